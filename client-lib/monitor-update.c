/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Updates of a monitor: what has arrived is applied, what has to be read is read, and the lists
 * change. */

#include "client-lib/agent-private.h"
#include "client-lib/lock-info-private.h"
#include "client-lib/monitor-private.h"
#include "common/sorted-list.h"

/* The delay after a failed refresh although there is a service. */
#define RETRY_MS 1000

/* ---- the lists */

static int
compare_items(gconstpointer a, gconstpointer b)
{
    return web_locks_lock_info_compare(*(const gpointer *)a, *(const gpointer *)b);
}

/* Returns whether anything has changed. */
static gboolean
change_list(ShownList *list)
{
    const gboolean is_changed = list->removed->len > 0 || list->added->len > 0;

    g_ptr_array_sort(list->removed, compare_items);
    sorted_list_remove(list->store, list->removed, web_locks_lock_info_compare);
    g_ptr_array_set_size(list->removed, 0);
    g_ptr_array_sort(list->added, compare_items);
    sorted_list_insert(list->store, list->added, web_locks_lock_info_compare);
    g_ptr_array_set_size(list->added, 0);
    return is_changed;
}

static void
thaw(gpointer info)
{
    g_object_thaw_notify(info);
    g_object_unref(info);
}

static void
collect(WebLocksMonitor *self, GPtrArray *frozen)
{
    for (guint i = 0; i < self->dropped->len; i++)
        bucket_cache_collect(self->dropped->pdata[i], &self->held, &self->pending, frozen);
    g_ptr_array_set_size(self->dropped, 0);
    for (guint i = 0; i < self->buckets->len; i++)
        bucket_cache_collect(self->buckets->pdata[i], &self->held, &self->pending, frozen);
}

/* All that signals have reported has been read, so the lists don't show a stolen lock as one that
 * nobody holds. */
static void
update_lists(WebLocksMonitor *self)
{
    g_autoptr(GPtrArray) frozen = g_ptr_array_new_with_free_func(thaw);
    gboolean is_changed;

    collect(self, frozen);
    is_changed = frozen->len > 0;
    is_changed |= change_list(&self->held);
    is_changed |= change_list(&self->pending);
    if (!is_changed)
        return;
    g_ptr_array_set_size(frozen, 0);
    g_signal_emit_by_name(self, "changed");
}

/* ---- updates */

/* Returns when to update again even without a signal; 0: not at all. */
static guint
plan_hosts(WebLocksMonitor *self)
{
    const gint64 now_us = g_get_monotonic_time();

    if (self->hosts_ms == 0)
        return 0;
    if (now_us >= self->hosts_due_us) {
        self->hosts_due_us = now_us + self->hosts_ms * G_TIME_SPAN_MILLISECOND;
        self->hosts_ms = MIN(2 * self->hosts_ms, MONITOR_HOSTS_MAX_MS);
    }
    return (guint)((self->hosts_due_us - now_us) / G_TIME_SPAN_MILLISECOND) + 1;
}

/* `next_ms` as above. */
static void
end_update(WebLocksMonitor *self, guint next_ms)
{
    Session *session = self->inbox->session;

    session_enter(session);
    if (next_ms > 0)
        monitor_inbox_update_in(self->inbox, next_ms);
    if (web_locks_monitor_end_refresh(self))
        monitor_inbox_update_in(self->inbox, MONITOR_BURST_MS);
    g_atomic_int_set(&self->is_busy, FALSE);
    session_leave(session);
}

void
web_locks_monitor_finish_update(WebLocksMonitor *self)
{
    update_lists(self);
    end_update(self, plan_hosts(self));
}

static void
fail_update(WebLocksMonitor *self, const GError *error)
{
    Session *session = self->inbox->session;

    g_debug("%s can't be seen: %s", web_locks_monitor_get_path(self), error->message);
    session_enter(session);
    self->inbox->is_watched = FALSE;
    session_leave(session);
    if (connection_is_served(web_locks_agent_get_connection(self->agent))) {
        end_update(self, RETRY_MS); /* it is slow or shutting down: the lists may still be right */
        return;
    }
    for (guint i = 0; i < self->buckets->len; i++)
        bucket_cache_clear(self->buckets->pdata[i]);
    web_locks_monitor_finish_update(self);
}

static void
on_refreshed(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksMonitor *self = WEB_LOCKS_MONITOR(source);
    g_autoptr(GTask) ready = g_steal_pointer(&self->ready);
    g_autoptr(GError) error = NULL;
    const gboolean is_done = g_task_propagate_pointer(G_TASK(result), &error) != NULL;

    if (is_done)
        web_locks_monitor_finish_update(self);
    else if (ready == NULL)
        fail_update(self, error);

    if (ready != NULL && is_done)
        g_task_return_pointer(ready, g_object_ref(self), g_object_unref);
    else if (ready != NULL)
        g_task_return_error(ready, g_steal_pointer(&error));
}

void
web_locks_monitor_start_refresh(WebLocksMonitor *self)
{
    GTask *task = g_task_new(self, self->ready != NULL ? g_task_get_cancellable(self->ready) : NULL,
                             on_refreshed, NULL);

    connection_call(web_locks_agent_get_connection(self->agent), &web_locks_monitor_refresh, self,
                    caller_of_task(task));
}

void
web_locks_monitor_update(gpointer monitor)
{
    WebLocksMonitor *self = monitor;
    gboolean needs_call;

    if (!g_atomic_int_compare_and_exchange(&self->is_busy, FALSE, TRUE))
        return;
    if (self->hosts_ms > 0 && g_get_monotonic_time() >= self->hosts_due_us)
        ((BucketCache *)self->buckets->pdata[0])->is_due = TRUE;
    session_enter(self->inbox->session);
    needs_call = web_locks_monitor_catch_up(self);
    session_leave(self->inbox->session);
    if (needs_call)
        web_locks_monitor_start_refresh(self);
    else
        web_locks_monitor_finish_update(self);
}
