/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/operation.h"

static void
set_over(Operation *self)
{
    if (self->losses != NULL && self->object != NULL)
        losses_watch(self->losses, WEB_LOCKS_LOCK(self->object));
    g_atomic_int_inc(&self->n_results);
    g_main_context_wakeup(NULL);
}

gboolean
operation_has_ended(gpointer operation)
{
    return g_atomic_int_get(&((Operation *)operation)->n_results) > 0;
}

static void
unref_list(GPtrArray *list)
{
    g_clear_pointer(&list, g_ptr_array_unref);
}

/* ---- sync */

static gpointer
run_sync(gpointer data)
{
    Operation *self = data;
    GCancellable *cancellable = self->cancellable;
    gpointer target = self->target;
    GError **error = &self->error;

    switch (self->kind) {
    case OPERATION_CONNECT:
        g_initable_init(G_INITABLE(target), cancellable, error);
        break;
    case OPERATION_REQUEST:
        self->object = (GObject *)web_locks_manager_request_sync(target, self->name, self->options,
                                                                 cancellable, error);
        break;
    case OPERATION_RELEASE:
        web_locks_lock_release_sync(target, cancellable, error);
        break;
    case OPERATION_DOWNGRADE:
        web_locks_lock_downgrade_sync(target, cancellable, error);
        break;
    case OPERATION_QUERY:
        self->object = (GObject *)web_locks_manager_query_sync(target, cancellable, error);
        break;
    case OPERATION_INSPECT:
        self->object = (GObject *)web_locks_manager_inspect_sync(target, NULL, cancellable, error);
        break;
    case OPERATION_BREAK:
        web_locks_manager_break_sync(target, self->name, NULL, cancellable, error);
        break;
    case OPERATION_BUCKETS:
        unref_list(web_locks_agent_list_observable_sync(target, cancellable, error));
        break;
    case OPERATION_MONITOR:
        self->object = (GObject *)web_locks_monitor_new_sync(target, cancellable, error);
        break;
    case OPERATION_MONITOR_ALL:
        self->object = (GObject *)web_locks_monitor_new_all_sync(target, cancellable, error);
        break;
    case OPERATION_NONE:
    default:
        g_assert_not_reached();
    }
    set_over(self);
    return NULL;
}

/* ---- async */

static void
on_result(GObject *source, GAsyncResult *result, gpointer data)
{
    Operation *self = data;
    gpointer target = self->target;
    GError **error = &self->error;

    g_assert_cmpint(self->n_results, ==, 0);
    switch (self->kind) {
    case OPERATION_CONNECT:
        g_async_initable_init_finish(G_ASYNC_INITABLE(target), result, error);
        break;
    case OPERATION_REQUEST:
        self->object = (GObject *)web_locks_manager_request_finish(target, result, error);
        break;
    case OPERATION_RELEASE:
        web_locks_lock_release_finish(target, result, error);
        break;
    case OPERATION_DOWNGRADE:
        web_locks_lock_downgrade_finish(target, result, error);
        break;
    case OPERATION_QUERY:
        self->object = (GObject *)web_locks_manager_query_finish(target, result, error);
        break;
    case OPERATION_INSPECT:
        self->object = (GObject *)web_locks_manager_inspect_finish(target, result, error);
        break;
    case OPERATION_BREAK:
        web_locks_manager_break_finish(target, result, error);
        break;
    case OPERATION_BUCKETS:
        unref_list(web_locks_agent_list_observable_finish(target, result, error));
        break;
    case OPERATION_MONITOR:
        self->object = (GObject *)web_locks_monitor_new_finish(result, error);
        break;
    case OPERATION_MONITOR_ALL:
        self->object = (GObject *)web_locks_monitor_new_all_finish(result, error);
        break;
    case OPERATION_NONE:
    default:
        g_assert_not_reached();
    }
    set_over(self);
}

static void
run_async(Operation *self)
{
    GCancellable *cancellable = self->cancellable;
    gpointer target = self->target;

    switch (self->kind) {
    case OPERATION_CONNECT:
        g_async_initable_init_async(G_ASYNC_INITABLE(target), G_PRIORITY_DEFAULT, cancellable,
                                    on_result, self);
        break;
    case OPERATION_REQUEST:
        web_locks_manager_request_async(target, self->name, self->options, cancellable, on_result,
                                        self);
        break;
    case OPERATION_RELEASE:
        web_locks_lock_release_async(target, cancellable, on_result, self);
        break;
    case OPERATION_DOWNGRADE:
        web_locks_lock_downgrade_async(target, cancellable, on_result, self);
        break;
    case OPERATION_QUERY:
        web_locks_manager_query_async(target, cancellable, on_result, self);
        break;
    case OPERATION_INSPECT:
        web_locks_manager_inspect_async(target, NULL, cancellable, on_result, self);
        break;
    case OPERATION_BREAK:
        web_locks_manager_break_async(target, self->name, NULL, cancellable, on_result, self);
        break;
    case OPERATION_BUCKETS:
        web_locks_agent_list_observable_async(target, cancellable, on_result, self);
        break;
    case OPERATION_MONITOR:
        web_locks_monitor_new_async(target, cancellable, on_result, self);
        break;
    case OPERATION_MONITOR_ALL:
        web_locks_monitor_new_all_async(target, cancellable, on_result, self);
        break;
    case OPERATION_NONE:
    default:
        g_assert_not_reached();
    }
}

void
operation_start(Operation *self, gboolean is_sync)
{
    g_object_ref(self->target);
    if (is_sync)
        self->thread = g_thread_new("sync", run_sync, self);
    else
        run_async(self);
}

void
operation_clear(Operation *self)
{
    if (self->thread != NULL)
        g_thread_join(self->thread);
    else if (self->kind != OPERATION_NONE)
        test_wait(operation_has_ended, self);
    g_clear_object(&self->target);
    g_clear_object(&self->options);
    g_clear_object(&self->cancellable);
    g_clear_object(&self->object);
    g_clear_error(&self->error);
    g_free(self->name);
    *self = (Operation){0};
}
