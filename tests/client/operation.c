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

/* Connecting, as if its functions were named like the others. */
#define connect_sync(agent, ...) g_initable_init(G_INITABLE(agent), __VA_ARGS__)
#define connect_async(agent, ...) \
    g_async_initable_init_async(G_ASYNC_INITABLE(agent), G_PRIORITY_DEFAULT, __VA_ARGS__)
#define connect_finish(agent, ...) \
    g_async_initable_init_finish(G_ASYNC_INITABLE(agent), __VA_ARGS__)

#define AND     ,
#define KEEP    self->object = (GObject *)
#define DISCARD (void)

/* The kind, what becomes of the result, the name of the function without its suffix, its arguments,
 * and those of the function that ends the asynchronous one. */
#define OPERATIONS(X)                                                                             \
    X(CONNECT, DISCARD, connect, target, target AND result)                                       \
    X(REQUEST, KEEP, web_locks_manager_request, target AND self->name AND self->options,          \
      target AND result)                                                                          \
    X(RELEASE, DISCARD, web_locks_lock_release, target, target AND result)                        \
    X(DOWNGRADE, DISCARD, web_locks_lock_downgrade, target, target AND result)                    \
    X(QUERY, KEEP, web_locks_manager_query, target, target AND result)                            \
    X(INSPECT, KEEP, web_locks_manager_inspect, target AND NULL, target AND result)               \
    X(BREAK, DISCARD, web_locks_manager_break, target AND self->name AND NULL, target AND result) \
    X(BUCKETS, unref_list, web_locks_agent_list_observable, target, target AND result)            \
    X(MONITOR, KEEP, web_locks_monitor_new, target, result)                                       \
    X(MONITOR_ALL, KEEP, web_locks_monitor_new_all, target, result)

#define RUN_SYNC(kind, keep, function, arguments, end)                     \
    case OPERATION_##kind:                                                 \
        keep(function##_sync(arguments, self->cancellable, &self->error)); \
        break;
#define RUN_ASYNC(kind, keep, function, arguments, end)                  \
    case OPERATION_##kind:                                               \
        function##_async(arguments, self->cancellable, on_result, self); \
        break;
#define FINISH(kind, keep, function, arguments, end) \
    case OPERATION_##kind:                           \
        keep(function##_finish(end, &self->error));  \
        break;

#define EACH(what)       \
    OPERATIONS(what)     \
    case OPERATION_NONE: \
    default:             \
        g_assert_not_reached();

static gpointer
run_sync(gpointer data)
{
    Operation *self = data;
    gpointer target = self->target;

    switch (self->kind) {
        EACH(RUN_SYNC)
    }
    set_over(self);
    return NULL;
}

static void
on_result(GObject *source, GAsyncResult *result, gpointer data)
{
    Operation *self = data;
    gpointer target = self->target;

    g_assert_cmpint(self->n_results, ==, 0);
    switch (self->kind) {
        EACH(FINISH)
    }
    set_over(self);
}

static void
run_async(Operation *self)
{
    gpointer target = self->target;

    switch (self->kind) {
        EACH(RUN_ASYNC)
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
