/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The functions of WebLocksAgent for buckets: getting a manager, creating a private bucket, listing
 * the buckets in use. */

#include <sys/random.h>

#include "client-lib/agent-private.h"
#include "client-lib/error-private.h"
#include "client-lib/manager-private.h"
#include "common/bus-names.h"

/**
 * web_locks_agent_get_manager:
 * @self: an agent
 * @bucket: the bucket's name: 1 to 255 bytes of UTF-8; an application uses its application id
 * @error: return location for an error
 *
 * Gets a manager for a bucket. This function does no I/O.
 *
 * Fails with `G_IO_ERROR_INVALID_ARGUMENT` if @bucket is not a valid bucket name.
 *
 * Returns: (transfer full): a manager
 * Since: 0.1
 */
WebLocksManager *
web_locks_agent_get_manager(WebLocksAgent *self, const char *bucket, GError **error)
{
    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), NULL);
    g_return_val_if_fail(bucket != NULL, NULL);
    return web_locks_manager_new_for_agent(self, bucket, error);
}

/**
 * web_locks_agent_create_private_manager:
 * @self: an agent
 *
 * Creates a manager for a bucket with a random name that can't be guessed. Other clients of the
 * same principal can use the bucket only if they get the value of
 * [property@WebLocks.Manager:bucket].
 *
 * Returns: (transfer full): a manager
 * Since: 0.1
 */
WebLocksManager *
web_locks_agent_create_private_manager(WebLocksAgent *self)
{
    guint64 random[2];
    g_autofree char *bucket = NULL;

    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), NULL);

    if (getrandom(random, sizeof random, 0) != sizeof random)
        g_error("getrandom() failed");
    bucket = g_strdup_printf("private-%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x",
                             random[0], random[1]);
    return web_locks_manager_new_for_agent(self, bucket, NULL);
}

static MethodCallMessage
build_buckets(gpointer data)
{
    return (MethodCallMessage){BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "Buckets", NULL};
}

static gpointer
read_buckets(GVariant *body, gpointer data, GError **error)
{
    char **buckets;

    if (!g_variant_is_of_type(body, G_VARIANT_TYPE("(as)"))) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    g_variant_get(body, "(^as)", &buckets);
    return buckets;
}

static void
free_strings(gpointer data)
{
    g_strfreev(data);
}

static const MethodCallKind buckets_kind = {build_buckets, read_buckets, free_strings};

/**
 * web_locks_agent_list_buckets_async:
 * @self: an agent
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Lists the caller's buckets that have a held lock or a pending request.
 *
 * Since: 0.1
 */
void
web_locks_agent_list_buckets_async(WebLocksAgent *self,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data)
{
    GTask *task;

    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_agent_list_buckets_async);
    connection_call(web_locks_agent_get_connection(self), &buckets_kind, NULL,
                    caller_of_task(task));
}

/**
 * web_locks_agent_list_buckets_finish:
 * @self: an agent
 * @result: the result of web_locks_agent_list_buckets_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_agent_list_buckets_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`, [error@WebLocks.Error.SECURITY],
 * [error@WebLocks.Error.INVALID_STATE] and [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full) (array zero-terminated=1): the names of the buckets
 * Since: 0.1
 */
char **
web_locks_agent_list_buckets_finish(WebLocksAgent *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_agent_list_buckets_async),
                         NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_locks_agent_list_buckets_sync:
 * @self: an agent
 * @cancellable: (nullable): cancels the operation
 * @error: return location for an error
 *
 * Lists the caller's buckets that have a held lock or a pending request, and waits for the reply.
 *
 * See web_locks_agent_list_buckets_finish() for errors.
 *
 * It waits for at most 25 seconds, and then fails with [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full) (array zero-terminated=1): the names of the buckets
 * Since: 0.1
 */
char **
web_locks_agent_list_buckets_sync(WebLocksAgent *self, GCancellable *cancellable, GError **error)
{
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    connection_call(web_locks_agent_get_connection(self), &buckets_kind, NULL,
                    caller_of_sync(&sync, cancellable));
    return sync_call_wait(&sync, error);
}
