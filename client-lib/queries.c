/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Asking what is held and who waits: the snapshot [4.5], and Inspect. */

#include "client-lib/queries.h"
#include "client-lib/call.h"
#include "client-lib/error-private.h"
#include "client-lib/lock-info-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/snapshot-private.h"
#include "common/wire-names.h"

/* ---- query */

static SdBusMessage *
build_query(Connection *connection, gpointer manager)
{
    return call_new_to_bucket(connection, web_locks_manager_get_path(manager), "Query");
}

static gboolean
read_query_list(WebLocksSnapshot *snapshot, sd_bus_message *reply, gboolean held)
{
    WebLocksLockInfo *info;

    if (sd_bus_message_enter_container(reply, 'a', "(sss)") <= 0)
        return FALSE;
    while ((info = web_locks_lock_info_new_from_query(reply, held)) != NULL)
        web_locks_snapshot_take(snapshot, info);
    return sd_bus_message_exit_container(reply) > 0;
}

WebLocksSnapshot *
queries_read_query(sd_bus_message *reply, GError **error)
{
    g_autoptr(WebLocksSnapshot) snapshot = web_locks_snapshot_new();

    if (!read_query_list(snapshot, reply, TRUE) || !read_query_list(snapshot, reply, FALSE)) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    return g_steal_pointer(&snapshot);
}

static gpointer
read_query(sd_bus_message *reply, gpointer manager, GError **error)
{
    return queries_read_query(reply, error);
}

static const CallKind query_kind = {build_query, read_query, g_object_unref};

/**
 * web_locks_manager_query_async:
 * @self: a manager
 * @cancellable: (nullable): ends the call
 * @callback: (scope async) (nullable): called with the answer
 * @user_data: for @callback
 *
 * Asks what is held and what waits in the bucket (section 4.5 of the standard).
 *
 * Since: 0.1
 */
void
web_locks_manager_query_async(WebLocksManager *self,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer user_data)
{
    GTask *task;

    g_return_if_fail(WEB_LOCKS_IS_MANAGER(self) && web_locks_manager_get_agent(self) != NULL);
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_manager_query_async);
    call_run_for_task(web_locks_manager_get_connection(self), &query_kind, self, task);
}

/**
 * web_locks_manager_query_finish:
 * @self: a manager
 * @result: the result of web_locks_manager_query_async()
 * @error: return location for an error
 *
 * Ends what web_locks_manager_query_async() began.
 *
 * Errors: `G_IO_ERROR_CANCELLED`, [error@WebLocks.Error.SECURITY],
 * [error@WebLocks.Error.INVALID_STATE] and [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a snapshot
 * Since: 0.1
 */
WebLocksSnapshot *
web_locks_manager_query_finish(WebLocksManager *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_manager_query_async), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_locks_manager_query_sync:
 * @self: a manager
 * @cancellable: (nullable): ends the call
 * @error: return location for an error
 *
 * Asks what is held and what waits in the bucket, and waits for the answer.
 *
 * See web_locks_manager_query_finish() for errors.
 *
 * Returns: (transfer full): a snapshot
 * Since: 0.1
 */
WebLocksSnapshot *
web_locks_manager_query_sync(WebLocksManager *self, GCancellable *cancellable, GError **error)
{
    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self) && web_locks_manager_get_agent(self) != NULL,
                         NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);
    return call_run_sync(web_locks_manager_get_connection(self), &query_kind, self, cancellable,
                         error);
}

/* ---- inspect */

/* The service answers by pages; this is where they come together. */
typedef struct {
    WebLocksManager *manager;
    WebLocksSnapshot *snapshot;
    char *name; /* NULL: all */
    guint64 after;
} Inspection;

static void
inspection_free(gpointer data)
{
    Inspection *self = data;

    g_object_unref(self->manager);
    g_object_unref(self->snapshot);
    g_free(self->name);
    g_free(self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Inspection, inspection_free)

static Inspection *
inspection_new(WebLocksManager *manager, const char *name)
{
    Inspection *self = g_new0(Inspection, 1);

    self->manager = g_object_ref(manager);
    self->snapshot = web_locks_snapshot_new();
    self->name = g_strdup(name);
    return self;
}

static SdBusMessage *
build_inspect(Connection *connection, gpointer inspection)
{
    const Inspection *self = inspection;
    SdBusMessage *message =
        call_new_to_bucket(connection, web_locks_manager_get_path(self->manager), "Inspect");
    int r = sd_bus_message_open_container(message, 'a', "{sv}");

    if (r >= 0 && self->name != NULL)
        r = sd_bus_message_append(message, "{sv}", WIRE_FILTER_NAME, "s", self->name);
    if (r >= 0)
        r = sd_bus_message_append(message, "{sv}", WIRE_FILTER_AFTER, "t", self->after);
    if (r >= 0)
        r = sd_bus_message_close_container(message);
    g_assert(r >= 0); /* the name was checked */
    return message;
}

static gpointer
read_inspect(sd_bus_message *reply, gpointer inspection, GError **error)
{
    Inspection *self = inspection;
    const guint64 before = self->after;
    WebLocksLockInfo *info;
    int more = 0;
    int r = sd_bus_message_enter_container(reply, 'a', "a{sv}");

    while (r > 0 && (info = web_locks_lock_info_new_from_inspect(reply, &self->after)) != NULL)
        web_locks_snapshot_take(self->snapshot, info);
    if (r > 0)
        r = sd_bus_message_exit_container(reply);
    if (r > 0)
        r = sd_bus_message_read_basic(reply, 'b', &more);
    if (r <= 0 || (more && self->after == before)) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    return more ? NULL : g_object_ref(self->snapshot);
}

static const CallKind inspect_kind = {build_inspect, read_inspect, g_object_unref};

/**
 * web_locks_manager_inspect_async:
 * @self: a manager
 * @name: (nullable): only locks and requests of this name; %NULL for all
 * @cancellable: (nullable): ends the call
 * @callback: (scope async) (nullable): called with the answer
 * @user_data: for @callback
 *
 * Asks for all that the service can tell people about what is held and what waits in the bucket:
 * processes, reasons, ages, who waits for whom.
 *
 * In a large bucket it is asked in several calls: then the answer is not of one moment, as that of
 * web_locks_manager_query_async() is.
 *
 * Since: 0.1
 */
void
web_locks_manager_inspect_async(WebLocksManager *self,
                                const char *name,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
    GTask *task;
    GError *error = NULL;
    Inspection *inspection;

    g_return_if_fail(WEB_LOCKS_IS_MANAGER(self) && web_locks_manager_get_agent(self) != NULL);
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_source_tag(task, web_locks_manager_inspect_async);
    if (name != NULL && !web_locks_manager_check_name(name, &error)) {
        g_task_return_error(task, error);
        g_object_unref(task);
        return;
    }
    inspection = inspection_new(self, name);
    g_task_set_task_data(task, inspection, inspection_free);
    call_run_for_task(web_locks_manager_get_connection(self), &inspect_kind, inspection, task);
}

/**
 * web_locks_manager_inspect_finish:
 * @self: a manager
 * @result: the result of web_locks_manager_inspect_async()
 * @error: return location for an error
 *
 * Ends what web_locks_manager_inspect_async() began.
 *
 * Errors: `G_IO_ERROR_CANCELLED`, `G_IO_ERROR_INVALID_ARGUMENT`, [error@WebLocks.Error.LIMITS],
 * [error@WebLocks.Error.SECURITY], [error@WebLocks.Error.INVALID_STATE] and
 * [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a snapshot, whose infos have all their properties
 * Since: 0.1
 */
WebLocksSnapshot *
web_locks_manager_inspect_finish(WebLocksManager *self, GAsyncResult *result, GError **error)
{
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    g_return_val_if_fail(g_async_result_is_tagged(result, web_locks_manager_inspect_async), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

/**
 * web_locks_manager_inspect_sync:
 * @self: a manager
 * @name: (nullable): only locks and requests of this name; %NULL for all
 * @cancellable: (nullable): ends the call
 * @error: return location for an error
 *
 * Asks for all that the service can tell people about what is held and what waits in the bucket,
 * and waits for the answer: see web_locks_manager_inspect_async().
 *
 * See web_locks_manager_inspect_finish() for errors.
 *
 * Returns: (transfer full): a snapshot, whose infos have all their properties
 * Since: 0.1
 */
WebLocksSnapshot *
web_locks_manager_inspect_sync(WebLocksManager *self,
                               const char *name,
                               GCancellable *cancellable,
                               GError **error)
{
    g_autoptr(Inspection) inspection = NULL;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self) && web_locks_manager_get_agent(self) != NULL,
                         NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    if (name != NULL && !web_locks_manager_check_name(name, error))
        return NULL;
    inspection = inspection_new(self, name);
    return call_run_sync(web_locks_manager_get_connection(self), &inspect_kind, inspection,
                         cancellable, error);
}
