/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Updates of a monitor: what has arrived is applied to the caches of the buckets, what has to be
 * read is read by method calls, the refresh, and the lists change. The refresh calls Watch,
 * Observable for the list of buckets, and Inspect for each bucket of which something is known from
 * signals only. Nothing is polled. */

#include "client-lib/agent-private.h"
#include "client-lib/lock-info-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/monitor-private.h"
#include "client-lib/queries.h"
#include "common/bus-names.h"
#include "common/sorted-list.h"

/* The delay after a failed refresh although there is a service. */
#define RETRY_MS 1000

/* The buckets of others come after the own ones. */
#define RANK_OF_OTHERS (G_GUINT64_CONSTANT(1) << 63)

const char *
web_locks_monitor_get_path(const WebLocksMonitor *self)
{
    return self->manager != NULL ? web_locks_manager_get_path(self->manager) : BUS_SERVICE_PATH;
}

void
web_locks_monitor_add_bucket(WebLocksMonitor *self, WebLocksManager *manager)
{
    guint64 rank = ++self->n_added | (web_locks_manager_get_observed(manager) ? RANK_OF_OTHERS : 0);
    BucketCache *bucket = bucket_cache_new(manager, self->name, rank);

    g_ptr_array_add(self->buckets, bucket);
    g_hash_table_insert(self->by_path, (gpointer)web_locks_manager_get_path(manager), bucket);
}

static void
drop_bucket(WebLocksMonitor *self, guint at)
{
    BucketCache *bucket = g_ptr_array_steal_index(self->buckets, at);

    g_hash_table_remove(self->by_path, web_locks_manager_get_path(bucket->manager));
    bucket_cache_clear(bucket);
    g_ptr_array_add(self->dropped, bucket);
}

/* Takes the reply to Observable. A bucket keeps its place and its manager as long as it is listed.
 */
static void
take_managers(WebLocksMonitor *self, GPtrArray *managers)
{
    g_autoptr(GHashTable) listed = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < managers->len; i++)
        g_hash_table_add(listed, (gpointer)web_locks_manager_get_path(managers->pdata[i]));
    for (guint i = self->buckets->len; i > 0; i--) {
        const BucketCache *bucket = self->buckets->pdata[i - 1];

        if (!g_hash_table_contains(listed, web_locks_manager_get_path(bucket->manager)))
            drop_bucket(self, i - 1);
    }
    for (guint i = 0; i < managers->len; i++)
        if (!g_hash_table_contains(self->by_path, web_locks_manager_get_path(managers->pdata[i])))
            web_locks_monitor_add_bucket(self, managers->pdata[i]);
    /* A bucket of which a signal has come before the reply is in the list, or empty again. */
    self->is_list_stale = FALSE;
}

/* ---- signals
 *
 * A bucket that has been read in this refresh is not changed again before its changes are shown:
 * otherwise it might never be shown. */

/* What has been read in this refresh is read again after it. */
static void
invalidate(WebLocksMonitor *self)
{
    self->is_list_stale = self->manager == NULL;
    for (guint i = self->at; i < self->buckets->len; i++)
        ((BucketCache *)self->buckets->pdata[i])->is_stale = TRUE;
    self->inbox->is_missing = self->at > 0;
}

static gboolean
is_for_later(WebLocksMonitor *self, gpointer bucket)
{
    guint index;

    return self->at > 0 && g_ptr_array_find(self->buckets, bucket, &index) && index < self->at;
}

static void
apply_signal(WebLocksMonitor *self, GDBusMessage *signal)
{
    const char *path = g_dbus_message_get_path(signal);
    const char *member = g_dbus_message_get_member(signal);
    BucketCache *bucket = g_hash_table_lookup(self->by_path, path);

    if (bucket != NULL && is_for_later(self, bucket))
        g_queue_push_tail(&self->later, g_object_ref(signal));
    else if (bucket != NULL)
        bucket_cache_signal(bucket, member, g_dbus_message_get_body(signal));
    else if (g_str_equal(path, BUS_SERVICE_PATH)) /* it is Missed */
        invalidate(self);
    else if (!g_str_equal(member, "Released"))
        self->is_list_stale = self->manager == NULL;
}

static void
apply_signals(WebLocksMonitor *self)
{
    GDBusMessage *signal;

    if (self->inbox->is_missing)
        invalidate(self);
    while ((signal = g_queue_pop_head(&self->inbox->signals)) != NULL) {
        apply_signal(self, signal);
        g_object_unref(signal);
    }
}

/* ---- the calls of a refresh */

static gboolean
needs_list(const WebLocksMonitor *self)
{
    return self->at == 0 && self->is_list_stale;
}

/* Finds what is to be read next. Returns FALSE if there is nothing. */
static gboolean
advance(WebLocksMonitor *self)
{
    if (needs_list(self))
        return TRUE;
    while (self->at < self->buckets->len &&
           !bucket_cache_wants_call(self->buckets->pdata[self->at]))
        self->at++;
    return self->at < self->buckets->len;
}

static BusMessage
build_watch(WebLocksMonitor *self)
{
    self->is_watch_asked = TRUE;
    return (BusMessage){web_locks_monitor_get_path(self),
                        self->manager != NULL ? BUS_LOCKS_INTERFACE : BUS_SERVICE_INTERFACE,
                        "Watch", g_variant_new("(b)", TRUE)};
}

static BusMessage
build_call(gpointer data)
{
    WebLocksMonitor *self = data;

    if (!self->inbox->is_watched) {
        self->call = MONITOR_CALL_WATCH;
        return build_watch(self);
    }
    if (needs_list(self)) {
        self->call = MONITOR_CALL_LIST;
        return observable_build(self->agent);
    }
    self->call = MONITOR_CALL_INSPECT;
    return bucket_cache_build(self->buckets->pdata[self->at]);
}

static gboolean
read_list(WebLocksMonitor *self, GVariant *body, GError **error)
{
    g_autoptr(GPtrArray) managers = observable_read(body, self->agent, error);

    if (managers != NULL)
        take_managers(self, managers);
    return managers != NULL;
}

/* Everything is read after Watch has been called: the service may be another one. */
static void
begin_watch(WebLocksMonitor *self)
{
    self->inbox->is_watched = TRUE;
    self->at = 0;
    g_queue_clear_full(&self->later, g_object_unref);
    invalidate(self);
    for (guint i = 0; i < self->buckets->len; i++)
        ((BucketCache *)self->buckets->pdata[i])->has_more = FALSE;
}

static gboolean
read_bucket(WebLocksMonitor *self, GVariant *body, GError **error)
{
    BucketCache *bucket = self->buckets->pdata[self->at];

    if (!bucket_cache_read(bucket, body, error))
        return FALSE;
    if (!bucket->has_more)
        self->at++;
    return TRUE;
}

/* Returns NULL without an error if another call has to follow. */
static gpointer
read_reply(GVariant *body, gpointer data, GError **error)
{
    WebLocksMonitor *self = data;

    apply_signals(self);
    if (self->call == MONITOR_CALL_WATCH) {
        begin_watch(self);
    } else if (!self->inbox->is_watched) {
        return NULL; /* this is a reply of another service than the one that was watched */
    } else {
        gboolean is_read = self->call == MONITOR_CALL_LIST ? read_list(self, body, error)
                                                           : read_bucket(self, body, error);

        if (!is_read)
            return NULL;
    }
    return advance(self) ? NULL : self;
}

const MethodCallKind web_locks_monitor_refresh = {build_call, read_reply};

/* ---- the beginning and the end of a refresh */

/* With the session lock held: applies the signals that have arrived. Returns whether something has
 * to be read. */
static gboolean
catch_up(WebLocksMonitor *self)
{
    apply_signals(self);
    return advance(self) || !self->inbox->is_watched;
}

/* With the session lock held, after what has been read is shown. Returns whether there is more
 * already. */
static gboolean
end_refresh(WebLocksMonitor *self)
{
    MonitorInbox *inbox = self->inbox;
    GDBusMessage *signal;
    gboolean has_more;

    self->at = 0;
    while ((signal = g_queue_pop_tail(&self->later)) != NULL)
        g_queue_push_head(&inbox->signals, signal);
    has_more = inbox->is_missing || !g_queue_is_empty(&inbox->signals) ||
               (inbox->is_watched && advance(self));
    self->at = 0;
    return has_more;
}

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
    if (end_refresh(self))
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
    AsyncResult *ready = g_steal_pointer(&self->ready);
    g_autoptr(GError) error = NULL;
    const gboolean is_done = async_result_take(result, &error) != NULL;

    if (is_done)
        web_locks_monitor_finish_update(self);
    else if (ready == NULL)
        fail_update(self, error);

    if (ready != NULL)
        async_result_return(ready, is_done ? g_object_ref(self) : NULL, g_object_unref,
                            g_steal_pointer(&error));
}

void
web_locks_monitor_start_refresh(WebLocksMonitor *self)
{
    GCancellable *cancellable =
        self->ready != NULL ? async_result_get_cancellable(self->ready) : NULL;

    connection_call(web_locks_agent_get_connection(self->agent), &web_locks_monitor_refresh, self,
                    caller_async(self, on_refreshed, cancellable, on_refreshed, NULL));
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
    needs_call = catch_up(self);
    session_leave(self->inbox->session);
    if (needs_call)
        web_locks_monitor_start_refresh(self);
    else
        web_locks_monitor_finish_update(self);
}
