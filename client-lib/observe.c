/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What an observer needs: a list of the buckets that it may look at, and ending locks of others. */

#include "client-lib/queries.h"

#include "client-lib/agent-private.h"
#include "client-lib/error-private.h"
#include "client-lib/manager-private.h"
#include "common/bus-names.h"

/* ---- list_observable */

BusMessage
observable_build(gpointer agent)
{
    return (BusMessage){BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "Observable", NULL};
}

static WebLocksManager *
new_from_entry(WebLocksAgent *agent, const char *path, GVariant *properties)
{
    const char *bucket, *application;
    guint32 uid;

    if (!g_variant_lookup(properties, "bucket", "&s", &bucket) ||
        !g_variant_lookup(properties, "app", "&s", &application) ||
        !g_variant_lookup(properties, "uid", "u", &uid))
        return NULL;
    return web_locks_manager_new_observed(agent, path, bucket, application, uid);
}

gpointer
observable_read(GVariant *body, gpointer agent, GError **error)
{
    g_autoptr(GPtrArray) managers = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GVariant) list = NULL;

    if (!g_variant_is_of_type(body, G_VARIANT_TYPE("(a(oa{sv}))"))) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    list = g_variant_get_child_value(body, 0);
    for (gsize i = 0; i < g_variant_n_children(list); i++) {
        g_autoptr(GVariant) entry = g_variant_get_child_value(list, i);
        g_autoptr(GVariant) properties = g_variant_get_child_value(entry, 1);
        WebLocksManager *manager;
        const char *path;

        g_variant_get_child(entry, 0, "&o", &path);
        manager = new_from_entry(agent, path, properties);
        if (manager == NULL) {
            g_propagate_error(error, error_new_unreadable());
            return NULL;
        }
        g_ptr_array_add(managers, manager);
    }
    return g_steal_pointer(&managers);
}

static const MethodCallKind observable_kind = {observable_build, observable_read,
                                               (GDestroyNotify)g_ptr_array_unref};

/**
 * web_locks_agent_list_observable_async:
 * @self: an agent
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Lists all buckets with a held lock or a pending request that the caller may look at: its own,
 * and, if it is not in a sandbox, those of its user's sandboxed applications; for root, those of
 * all users.
 *
 * Since: 0.1
 */
void
web_locks_agent_list_observable_async(WebLocksAgent *self,
                                      GCancellable *cancellable,
                                      GAsyncReadyCallback callback,
                                      gpointer user_data)
{
    g_return_if_fail(WEB_LOCKS_IS_AGENT(self));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    connection_call(web_locks_agent_get_connection(self), &observable_kind, self,
                    caller_async(self, web_locks_agent_list_observable_async, cancellable, callback,
                                 user_data));
}

/**
 * web_locks_agent_list_observable_finish:
 * @self: an agent
 * @result: the result of web_locks_agent_list_observable_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_agent_list_observable_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`, [error@WebLocks.Error.SECURITY],
 * [error@WebLocks.Error.INVALID_STATE] and [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer container) (element-type WebLocksManager): a manager for each bucket; the
 *   caller's own buckets come first
 * Since: 0.1
 */
ASYNC_RESULT_FINISH(GPtrArray, WebLocksAgent, web_locks_agent_list_observable)

/**
 * web_locks_agent_list_observable_sync:
 * @self: an agent
 * @cancellable: (nullable): cancels the operation
 * @error: return location for an error
 *
 * Lists all buckets that the caller may look at, and waits for the reply: see
 * web_locks_agent_list_observable_async().
 *
 * See web_locks_agent_list_observable_finish() for errors.
 *
 * It waits for at most 25 seconds, and then fails with [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer container) (element-type WebLocksManager): a manager for each bucket; the
 *   caller's own buckets come first
 * Since: 0.1
 */
GPtrArray *
web_locks_agent_list_observable_sync(WebLocksAgent *self, GCancellable *cancellable, GError **error)
{
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_AGENT(self), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    connection_call(web_locks_agent_get_connection(self), &observable_kind, self,
                    caller_of_sync(&sync, cancellable));
    return sync_call_wait(&sync, error);
}

/* ---- break */

/* Returns an owned call. `info` NULL: of all locks of the name. Otherwise of those of its client
 * and with its id, or all of its client if the id is not known. */
static BusMessage *
break_new(WebLocksManager *manager, const char *name, WebLocksLockInfo *info)
{
    const guint64 id = info != NULL ? web_locks_lock_info_get_id(info) : 0;
    BusMessage *self = g_new0(BusMessage, 1);
    GVariantBuilder options;

    g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
    if (info != NULL)
        g_variant_builder_add(&options, "{sv}", BUS_OPTION_CLIENT_ID,
                              g_variant_new_string(web_locks_lock_info_get_client_id(info)));
    if (id != 0)
        g_variant_builder_add(&options, "{sv}", BUS_OPTION_ID, g_variant_new_uint64(id));
    *self = (BusMessage){web_locks_manager_get_path(manager), BUS_LOCKS_INTERFACE, "Break",
                         g_variant_ref_sink(g_variant_new("(sa{sv})", name, &options))};
    return self;
}

static void
break_free(gpointer data)
{
    g_variant_unref(((BusMessage *)data)->body);
    g_free(data);
}

static BusMessage
build_break(gpointer data)
{
    return *(const BusMessage *)data;
}

/* A result is a pointer, and NULL is none: so it is one more than the number. */
static gpointer
read_break(GVariant *body, gpointer data, GError **error)
{
    guint32 count;

    if (!g_variant_is_of_type(body, G_VARIANT_TYPE("(u)"))) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    g_variant_get(body, "(u)", &count);
    return GUINT_TO_POINTER(MIN(count, (guint32)G_MAXINT32 - 1) + 1);
}

/* Sent again, it could end the lock of the next holder. */
static const MethodCallKind break_kind = {
    .build = build_break,
    .read = read_break,
    .data_free = break_free,
    .is_once = TRUE,
};

static void
break_locks(WebLocksManager *self, const char *name, WebLocksLockInfo *info, Caller caller)
{
    Session *session = connection_get_session(web_locks_manager_get_connection(self));
    GError *error = NULL;

    if (web_locks_manager_check_lock_name(name, &error))
        web_locks_manager_call(self, &break_kind, break_new(self, name, info), caller);
    else
        caller_fail(caller, session, error);
}

/**
 * web_locks_manager_break_async:
 * @self: a manager
 * @name: the resource name
 * @info: (nullable): breaks only this lock, as described by a [class@WebLocks.LockInfo] of
 *   web_locks_manager_inspect_async() or of a [class@WebLocks.Monitor]; %NULL: all locks of @name
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Ends the held locks of a name, and grants the next pending requests.
 *
 * The holders lose their locks as if they were stolen. This is meant for observers and users, if a
 * holder is known to hang; the bucket may be that of another principal.
 *
 * Unlike other operations this one is not repeated if the service ends or is replaced before it has
 * replied, since it could then end the lock of the next holder as well. It fails with
 * [error@WebLocks.Error.UNAVAILABLE], whose message says that the locks may have been ended.
 *
 * Since: 0.1
 */
void
web_locks_manager_break_async(WebLocksManager *self,
                              const char *name,
                              WebLocksLockInfo *info,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer user_data)
{
    g_return_if_fail(WEB_LOCKS_IS_MANAGER(self));
    g_return_if_fail(name != NULL);
    g_return_if_fail(info == NULL || WEB_LOCKS_IS_LOCK_INFO(info));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    break_locks(
        self, name, info,
        caller_async(self, web_locks_manager_break_async, cancellable, callback, user_data));
}

/**
 * web_locks_manager_break_finish:
 * @self: a manager
 * @result: the result of web_locks_manager_break_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_manager_break_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`, `G_IO_ERROR_INVALID_ARGUMENT`,
 * [error@WebLocks.Error.NOT_SUPPORTED] if the name is reserved, [error@WebLocks.Error.LIMITS] if it
 * is too long, [error@WebLocks.Error.SECURITY], [error@WebLocks.Error.INVALID_STATE] and
 * [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: the number of locks that were ended, 0 if none was held; -1 on error
 * Since: 0.1
 */
int
web_locks_manager_break_finish(WebLocksManager *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(async_result_is_valid(result, self, web_locks_manager_break_async), -1);
    return GPOINTER_TO_INT(async_result_take(result, error)) - 1;
}

/**
 * web_locks_manager_break_sync:
 * @self: a manager
 * @name: the resource name
 * @info: (nullable): breaks only this lock; %NULL: all locks of @name
 * @cancellable: (nullable): cancels the operation
 * @error: return location for an error
 *
 * Ends the held locks of a name, and waits for the reply: see web_locks_manager_break_async().
 *
 * See web_locks_manager_break_finish() for errors.
 *
 * It waits for at most 25 seconds, and then fails with [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: the number of locks that were ended, 0 if none was held; -1 on error
 * Since: 0.1
 */
int
web_locks_manager_break_sync(WebLocksManager *self,
                             const char *name,
                             WebLocksLockInfo *info,
                             GCancellable *cancellable,
                             GError **error)
{
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self), -1);
    g_return_val_if_fail(name != NULL, -1);
    g_return_val_if_fail(info == NULL || WEB_LOCKS_IS_LOCK_INFO(info), -1);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), -1);

    break_locks(self, name, info, caller_of_sync(&sync, cancellable));
    return GPOINTER_TO_INT(sync_call_wait(&sync, error)) - 1;
}
