/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The functions of WebLocksManager for snapshots: Query [4.5] and Inspect. */

#include "client-lib/queries.h"
#include "client-lib/error-private.h"
#include "client-lib/info-list.h"
#include "client-lib/lock-info-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/snapshot-private.h"
#include "common/bus-names.h"

/* ---- query */

static BusMessage
build_query(gpointer manager)
{
    return (BusMessage){web_locks_manager_get_path(manager), BUS_LOCKS_INTERFACE, "Query", NULL};
}

static gpointer
read_query(const BusReply *reply, gpointer manager, GError **error)
{
    g_autoptr(GBytes) body = g_bytes_new(reply->body, reply->body_size);
    g_autoptr(GListModel) held = NULL, pending = NULL;

    if (g_str_equal(reply->signature, INFO_LIST_SIGNATURE) && info_list_read(body, &held, &pending))
        return web_locks_snapshot_new(held, pending);
    g_propagate_error(error, error_new_unreadable());
    return NULL;
}

static const MethodCallKind query_kind = {
    .build = build_query,
    .read_raw = read_query,
    .result_free = g_object_unref,
};

/**
 * web_locks_manager_query_async:
 * @self: a manager
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Gets a snapshot of the held locks and pending requests of the bucket (section 4.5 of the
 * standard). Of a bucket that several hosts share, it is about this host alone.
 *
 * Since: 0.1
 */
void
web_locks_manager_query_async(WebLocksManager *self,
                              GCancellable *cancellable,
                              GAsyncReadyCallback callback,
                              gpointer user_data)
{
    g_return_if_fail(WEB_LOCKS_IS_MANAGER(self));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    web_locks_manager_call(
        self, &query_kind, self,
        caller_async(self, web_locks_manager_query_async, cancellable, callback, user_data));
}

/**
 * web_locks_manager_query_finish:
 * @self: a manager
 * @result: the result of web_locks_manager_query_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_manager_query_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`, [error@WebLocks.Error.SECURITY],
 * [error@WebLocks.Error.INVALID_STATE] and [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a snapshot
 * Since: 0.1
 */
ASYNC_RESULT_FINISH(WebLocksSnapshot, WebLocksManager, web_locks_manager_query)

/**
 * web_locks_manager_query_sync:
 * @self: a manager
 * @cancellable: (nullable): cancels the operation
 * @error: return location for an error
 *
 * Gets a snapshot of the held locks and pending requests of the bucket, and waits for the reply.
 *
 * See web_locks_manager_query_finish() for errors.
 *
 * It waits for at most 25 seconds, and then fails with [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a snapshot
 * Since: 0.1
 */
WebLocksSnapshot *
web_locks_manager_query_sync(WebLocksManager *self, GCancellable *cancellable, GError **error)
{
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    web_locks_manager_call(self, &query_kind, self, caller_of_sync(&sync, cancellable));
    return sync_call_wait(&sync, error);
}

/* ---- inspect */

BusMessage
inspect_page_build(WebLocksManager *manager, const char *name, guint64 after)
{
    GVariantBuilder filters;

    g_variant_builder_init(&filters, G_VARIANT_TYPE_VARDICT);
    if (name != NULL)
        g_variant_builder_add(&filters, "{sv}", BUS_FILTER_NAME, g_variant_new_string(name));
    g_variant_builder_add(&filters, "{sv}", BUS_FILTER_AFTER, g_variant_new_uint64(after));
    g_variant_builder_add(&filters, "{sv}", BUS_FILTER_LIMIT,
                          g_variant_new_uint32(BUS_INSPECT_LIMIT_MAX));
    return (BusMessage){web_locks_manager_get_path(manager), BUS_LOCKS_INTERFACE, "Inspect",
                        g_variant_new("(a{sv})", &filters)};
}

GPtrArray *
inspect_page_read(GVariant *body, guint64 *inout_after, gboolean *out_more, GError **error)
{
    g_autoptr(GPtrArray) infos = g_ptr_array_new_with_free_func(g_object_unref);
    g_autoptr(GVariant) list = NULL;
    guint64 after = *inout_after;
    GVariantIter iter;
    gboolean more;

    if (!g_variant_is_of_type(body, G_VARIANT_TYPE("(aa{sv}b)"))) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    g_variant_get(body, "(@aa{sv}b)", &list, &more);
    g_variant_iter_init(&iter, list);
    for (gsize n = g_variant_iter_n_children(&iter); n > 0; n--) {
        g_autoptr(GVariant) entry = g_variant_iter_next_value(&iter);
        WebLocksLockInfo *info = web_locks_lock_info_new_from_inspect(entry);

        if (info == NULL) {
            g_propagate_error(error, error_new_unreadable());
            return NULL;
        }
        g_ptr_array_add(infos, info);
        /* Those of other hosts have no place in the order; they are on the last page. */
        if (!web_locks_lock_info_is_of_another_host(info))
            after = MAX(after, info->cursor);
    }
    if (more && after == *inout_after) {
        g_propagate_error(error, error_new_unreadable());
        return NULL;
    }
    *inout_after = after;
    *out_more = more;
    return g_steal_pointer(&infos);
}

/* The pages that have been read. */
typedef struct {
    WebLocksManager *manager; /* borrowed from the operation */
    GListStore *held;
    GListStore *pending;
    char *name; /* NULL: all names */
    guint64 after;
} Inspection;

static void
inspection_free(gpointer data)
{
    Inspection *self = data;

    g_object_unref(self->held);
    g_object_unref(self->pending);
    g_free(self->name);
    g_free(self);
}

static Inspection *
inspection_new(WebLocksManager *manager, const char *name)
{
    Inspection *self = g_new0(Inspection, 1);

    self->manager = manager;
    self->held = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    self->pending = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    self->name = g_strdup(name);
    return self;
}

static BusMessage
build_inspect(gpointer inspection)
{
    const Inspection *self = inspection;

    return inspect_page_build(self->manager, self->name, self->after);
}

/* Returns NULL without an error if there are more pages. */
static gpointer
read_inspect(GVariant *body, gpointer inspection, GError **error)
{
    Inspection *self = inspection;
    gboolean more;
    g_autoptr(GPtrArray) infos = inspect_page_read(body, &self->after, &more, error);

    for (guint i = 0; infos != NULL && i < infos->len; i++) {
        GListStore *list =
            web_locks_lock_info_get_held(infos->pdata[i]) ? self->held : self->pending;

        g_set_object(&((WebLocksLockInfo *)infos->pdata[i])->manager, self->manager);
        g_list_store_append(list, infos->pdata[i]);
    }
    return infos == NULL || more
               ? NULL
               : web_locks_snapshot_new(G_LIST_MODEL(self->held), G_LIST_MODEL(self->pending));
}

static const MethodCallKind inspect_kind = {
    .build = build_inspect,
    .read = read_inspect,
    .result_free = g_object_unref,
    .data_free = inspection_free,
};

static void
inspect(WebLocksManager *self, const char *name, Caller caller)
{
    Session *session = connection_get_session(web_locks_manager_get_connection(self));
    GError *error = NULL;

    if (name != NULL && !web_locks_manager_check_name(name, &error))
        caller_fail(caller, session, error);
    else
        web_locks_manager_call(self, &inspect_kind, inspection_new(self, name), caller);
}

/**
 * web_locks_manager_inspect_async:
 * @self: a manager
 * @name: (nullable): only locks and requests of this name; %NULL for all
 * @cancellable: (nullable): cancels the operation
 * @callback: (scope async) (nullable): called when the operation has finished
 * @user_data: for @callback
 *
 * Gets the held locks and pending requests of the bucket with all details: processes, purposes,
 * times, positions, and the clients that a request waits for.
 *
 * For a large bucket this takes several calls. Then the result is not an atomic snapshot, unlike
 * that of web_locks_manager_query_async().
 *
 * In a bucket that several hosts share, and with a @name, the lists end with what other hosts hold
 * or wait for; the service waits for these hosts for at most 2 seconds. Without a @name they are
 * about this host alone.
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
    g_return_if_fail(WEB_LOCKS_IS_MANAGER(self));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    inspect(self, name,
            caller_async(self, web_locks_manager_inspect_async, cancellable, callback, user_data));
}

/**
 * web_locks_manager_inspect_finish:
 * @self: a manager
 * @result: the result of web_locks_manager_inspect_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_manager_inspect_async().
 *
 * Errors: `G_IO_ERROR_CANCELLED`, `G_IO_ERROR_INVALID_ARGUMENT`, [error@WebLocks.Error.LIMITS],
 * [error@WebLocks.Error.SECURITY], [error@WebLocks.Error.INVALID_STATE] and
 * [error@WebLocks.Error.UNAVAILABLE].
 *
 * Returns: (transfer full): a snapshot, whose infos have all their properties
 * Since: 0.1
 */
ASYNC_RESULT_FINISH(WebLocksSnapshot, WebLocksManager, web_locks_manager_inspect)

/**
 * web_locks_manager_inspect_sync:
 * @self: a manager
 * @name: (nullable): only locks and requests of this name; %NULL for all
 * @cancellable: (nullable): cancels the operation
 * @error: return location for an error
 *
 * Gets the held locks and pending requests of the bucket with all details, and waits for the reply:
 * see web_locks_manager_inspect_async().
 *
 * See web_locks_manager_inspect_finish() for errors.
 *
 * It waits for at most 25 seconds, and then fails with [error@WebLocks.Error.UNAVAILABLE].
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
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    inspect(self, name, caller_of_sync(&sync, cancellable));
    return sync_call_wait(&sync, error);
}
