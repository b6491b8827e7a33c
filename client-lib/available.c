/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whether there is a lock service, for programs that also work without one. */

#include "client-lib/agent-private.h"
#include "client-lib/error-private.h"
#include "common/bus-names.h"

/* Any method will do: what counts is that the service replies to this client. */
static MethodCallMessage
build_call(gpointer data)
{
    return (MethodCallMessage){BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "Buckets", NULL};
}

static gpointer
read_reply(GVariant *body, gpointer data, GError **error)
{
    return GINT_TO_POINTER(TRUE);
}

static void
free_nothing(gpointer data)
{
}

static const MethodCallKind available_kind = {
    .build = build_call,
    .read = read_reply,
    .result_free = free_nothing,
};

/* Takes the error of the call. */
static gboolean
is_available(GError *take_error, GError **error)
{
    if (take_error == NULL)
        return TRUE;
    if (g_error_matches(take_error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE))
        g_error_free(take_error);
    else
        g_propagate_error(error, take_error);
    return FALSE;
}

/* The task of the call has returned; `data` is that of the application. */
static void
on_replied(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GTask) task = data;
    GError *call_error = NULL;
    GError *error = NULL;
    gboolean available;

    g_task_propagate_pointer(G_TASK(result), &call_error);
    available = is_available(call_error, &error);
    if (error != NULL)
        g_task_return_error(task, error);
    else
        g_task_return_boolean(task, available);
}

/**
 * web_locks_agent_is_available_async:
 * @self: an agent
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Finds out whether there is a lock service that this agent can use. If the bus can start the
 * service, it is started.
 *
 * This is for programs that use locks if they can, but also work where the lock service is not
 * installed. If the service ends later, requests fail with [error@WebLocks.Error.UNAVAILABLE].
 *
 * Since: 0.1
 */
void
web_locks_agent_is_available_async(WebLocksAgent *self,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data)
{
    GTask *task;

    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_agent_is_available_async);
    connection_call(web_locks_agent_get_connection(self), &available_kind, NULL,
                    caller_of_task(g_task_new(self, cancellable, on_replied, task)));
}

/**
 * web_locks_agent_is_available_finish:
 * @self: an agent
 * @result: the result of web_locks_agent_is_available_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_agent_is_available_async().
 *
 * Returns %FALSE without an error if the bus can't be reached, or if there is no lock service on
 * it.
 *
 * Errors: `G_IO_ERROR_CANCELLED`, [error@WebLocks.Error.SECURITY] if the service refuses the agent,
 * and [error@WebLocks.Error.INVALID_STATE].
 *
 * Returns: whether the lock service can be used
 * Since: 0.1
 */
gboolean
web_locks_agent_is_available_finish(WebLocksAgent *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), FALSE);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_agent_is_available_async),
                         FALSE);
    return g_task_propagate_boolean(G_TASK(result), error);
}

/**
 * web_locks_agent_is_available_sync:
 * @self: an agent
 * @cancellable: (nullable): cancels the operation
 * @error: return location for an error
 *
 * Finds out whether there is a lock service that this agent can use, and waits for its reply: see
 * web_locks_agent_is_available_async() and web_locks_agent_is_available_finish().
 *
 * It waits for at most 25 seconds; then the result is %FALSE.
 *
 * Returns: whether the lock service can be used; %FALSE without an error if there is none
 * Since: 0.1
 */
gboolean
web_locks_agent_is_available_sync(WebLocksAgent *self, GCancellable *cancellable, GError **error)
{
    GError *call_error = NULL;
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), FALSE);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), FALSE);

    connection_call(web_locks_agent_get_connection(self), &available_kind, NULL,
                    caller_of_sync(&sync, cancellable));
    sync_call_wait(&sync, &call_error);
    return is_available(call_error, error);
}
