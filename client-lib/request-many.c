/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests for several locks: all or none. They are made one after the other, in an order that is
 * the same for all callers, so that there can be no deadlock (section 5.1 of the standard). */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "client-lib/lock-private.h"
#include "client-lib/manager-private.h"

typedef struct {
    GPtrArray *names; /* sorted, without duplicates */
    GPtrArray *locks; /* locks[i] is the lock of names[i] */
    RequestOptions options;
    gint64 deadline_us; /* monotonic; 0: none */
} RequestMany;

static void
request_many_free(gpointer data)
{
    RequestMany *self = data;

    g_ptr_array_unref(self->names);
    g_clear_pointer(&self->locks, g_ptr_array_unref);
    request_options_clear(&self->options);
    g_free(self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RequestMany, request_many_free)

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *
sort_names(const char *const *names)
{
    GPtrArray *sorted = g_ptr_array_new_with_free_func(g_free);

    for (; *names != NULL; names++)
        g_ptr_array_add(sorted, g_strdup(*names));
    g_ptr_array_sort(sorted, compare_names);
    for (guint i = 1; i < sorted->len;) {
        if (strcmp(sorted->pdata[i - 1], sorted->pdata[i]) == 0)
            g_ptr_array_remove_index(sorted, i);
        else
            i++;
    }
    return sorted;
}

static RequestMany *
request_many_new(const char *const *names, WebLocksOptions *options, GCancellable *cancellable)
{
    RequestMany *self = g_new0(RequestMany, 1);

    self->names = sort_names(names);
    self->locks = g_ptr_array_new_with_free_func(g_object_unref);
    request_options_init(&self->options, options);
    if (self->options.timeout_ms > 0)
        self->deadline_us =
            g_get_monotonic_time() + self->options.timeout_ms * G_GINT64_CONSTANT(1000);
    return self;
}

static void
drop_locks(RequestMany *self)
{
    for (guint i = 0; i < self->locks->len; i++)
        web_locks_lock_release(g_ptr_array_index(self->locks, i));
    g_ptr_array_set_size(self->locks, 0);
}

/* Checks that no lock was lost while later ones were requested. */
static gboolean
check_held(RequestMany *self, GError **error)
{
    for (guint i = 0; i < self->locks->len; i++) {
        const GError *loss = web_locks_lock_get_error(g_ptr_array_index(self->locks, i));

        if (loss != NULL) {
            g_propagate_error(error, g_error_copy(loss));
            return FALSE;
        }
    }
    return TRUE;
}

/* Checks the time-out, which applies to all requests together. */
static gboolean
check_time(RequestMany *self, GError **error)
{
    gint64 left_ms;

    if (self->deadline_us == 0)
        return TRUE;
    left_ms = (self->deadline_us - g_get_monotonic_time() + 999) / 1000;
    if (left_ms <= 0) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT,
                            _("the locks were not granted in time"));
        return FALSE;
    }
    self->options.timeout_ms = (guint)left_ms;
    return TRUE;
}

/* Returns the next name to request; NULL: there is none, or an error, and the locks were released.
 */
static const char *
choose_name(RequestMany *self, GCancellable *cancellable, GError **error)
{
    const gboolean is_last = self->locks->len == self->names->len;

    /* The last check before the locks are handed over. */
    if (is_last
            ? !g_cancellable_set_error_if_cancelled(cancellable, error) && check_held(self, error)
            : check_time(self, error))
        return is_last ? NULL : g_ptr_array_index(self->names, self->locks->len);
    drop_locks(self);
    return NULL;
}

/* Takes the result of a request. If it is not a lock, the others are released. */
static gboolean
add_lock(RequestMany *self, WebLocksLock *take_lock)
{
    if (take_lock != NULL)
        g_ptr_array_add(self->locks, take_lock);
    else
        drop_locks(self);
    return take_lock != NULL;
}

static void on_lock(GObject *source, GAsyncResult *result, gpointer data);

/* Takes the result. */
static void
request_next(AsyncResult *all)
{
    RequestMany *self = async_result_get_data(all);
    WebLocksManager *manager = async_result_get_source(all);
    GCancellable *cancellable = async_result_get_cancellable(all);
    GError *error = NULL;
    const char *name = choose_name(self, cancellable, &error);

    if (name == NULL)
        async_result_return(all, error == NULL ? g_steal_pointer(&self->locks) : NULL,
                            (GDestroyNotify)g_ptr_array_unref, error);
    else
        web_locks_manager_start_request(manager, name, &self->options,
                                        caller_async(manager, on_lock, cancellable, on_lock, all));
}

static void
on_lock(GObject *source, GAsyncResult *result, gpointer data)
{
    AsyncResult *all = data;
    g_autoptr(GMainContext) context = g_main_context_ref(async_result_get_context(all));
    GError *error = NULL;

    if (!add_lock(async_result_get_data(all), async_result_take(result, &error))) {
        async_result_return(all, NULL, NULL, error);
        return;
    }
    g_main_context_push_thread_default(context);
    request_next(all);
    g_main_context_pop_thread_default(context);
}

static gboolean
check(WebLocksManager *manager, const RequestMany *self, GError **error)
{
    if (!web_locks_manager_check(manager, error))
        return FALSE;
    for (guint i = 0; i < self->names->len; i++)
        if (!web_locks_manager_check_lock_name(self->names->pdata[i], error))
            return FALSE;
    return request_options_check(&self->options, error);
}

/**
 * web_locks_manager_request_many_async:
 * @self: a manager
 * @names: (array zero-terminated=1): resource names, in any order
 * @options: (nullable): the options of each request; %NULL for the defaults
 * @cancellable: (nullable): aborts the requests
 * @callback: (scope async) (nullable): called when all locks are granted or a request has failed
 * @user_data: for @callback
 *
 * Requests several locks: all or none.
 *
 * The locks are requested one after the other in the byte order of their names, whatever the order
 * of @names. So callers that need some of the same locks can't deadlock (section 5.1 of the
 * standard), if each requests all its locks in one call. Duplicate names are ignored. The time-out
 * of @options applies to all requests together.
 *
 * Since: 0.1
 */
void
web_locks_manager_request_many_async(WebLocksManager *self,
                                     const char *const *names,
                                     WebLocksOptions *options,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data)
{
    AsyncResult *result;
    RequestMany *many;
    GError *error = NULL;

    g_return_if_fail(WEB_LOCKS_IS_MANAGER(self));
    g_return_if_fail(names != NULL);
    g_return_if_fail(options == NULL || WEB_LOCKS_IS_OPTIONS(options));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    result = async_result_new(self, web_locks_manager_request_many_async, cancellable, callback,
                              user_data);
    many = request_many_new(names, options, cancellable);
    async_result_set_data(result, many, request_many_free);
    if (check(self, many, &error))
        request_next(result);
    else
        async_result_return(result, NULL, NULL, error);
}

/**
 * web_locks_manager_request_many_finish:
 * @self: a manager
 * @result: the result of web_locks_manager_request_many_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_manager_request_many_async().
 *
 * Returns %NULL without an error if one of the locks was not available, which only happens with
 * [property@WebLocks.Options:if-available]. In addition to the errors of
 * web_locks_manager_request_finish(), it fails with [error@WebLocks.Error.STOLEN] if one of the
 * locks was stolen before all were granted.
 *
 * Returns: (transfer container) (nullable) (element-type WebLocksLock): the locks, sorted by name
 * Since: 0.1
 */
ASYNC_RESULT_FINISH(GPtrArray, WebLocksManager, web_locks_manager_request_many)

/**
 * web_locks_manager_request_many_sync:
 * @self: a manager
 * @names: (array zero-terminated=1): resource names, in any order
 * @options: (nullable): the options of each request; %NULL for the defaults
 * @cancellable: (nullable): aborts the requests, from another thread
 * @error: return location for an error
 *
 * Requests several locks, and waits until all are granted: see
 * web_locks_manager_request_many_async() and web_locks_manager_request_many_finish().
 *
 * How long it waits is as for web_locks_manager_request_sync(), for each lock.
 *
 * Returns: (transfer container) (nullable) (element-type WebLocksLock): the locks, sorted by name;
 *   %NULL without an error if not all were available
 * Since: 0.1
 */
GPtrArray *
web_locks_manager_request_many_sync(WebLocksManager *self,
                                    const char *const *names,
                                    WebLocksOptions *options,
                                    GCancellable *cancellable,
                                    GError **error)
{
    g_autoptr(RequestMany) many = NULL;
    GError *failure = NULL;
    const char *name;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self), NULL);
    g_return_val_if_fail(names != NULL, NULL);
    g_return_val_if_fail(options == NULL || WEB_LOCKS_IS_OPTIONS(options), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    many = request_many_new(names, options, cancellable);
    if (!check(self, many, error))
        return NULL;
    while ((name = choose_name(many, cancellable, &failure)) != NULL) {
        SyncCall sync;

        web_locks_manager_start_request(self, name, &many->options,
                                        caller_of_sync(&sync, cancellable));
        if (!add_lock(many, sync_call_wait(&sync, error)))
            return NULL;
    }
    if (failure == NULL)
        return g_steal_pointer(&many->locks);
    g_propagate_error(error, failure);
    return NULL;
}
