/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests for one lock, and what is checked before a request [4.1]. */

#include "config.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "client-lib/lock-private.h"
#include "client-lib/manager-private.h"
#include "common/bus-names.h"
#include "common/bus-string.h"

/* Well above the service's limit. Name, `why`, `for` and head of a request fit into one packet. */
#define NAME_BYTES_MAX 32768

gboolean
web_locks_manager_check(WebLocksManager *self, GError **error)
{
    if (web_locks_manager_get_observed(self)) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY,
                            g_str_has_prefix(web_locks_manager_get_bucket(self), BUS_PUBLIC_PREFIX)
                                ? _("a private session can only be joined by its name, which "
                                    "begins with 'private-'")
                                : _("locks of another principal can only be observed"));
        return FALSE;
    }
    return connection_check(web_locks_manager_get_connection(self), error) &&
           web_locks_manager_check_bucket(self, error);
}

gboolean
web_locks_manager_check_name(const char *name, GError **error)
{
    if (strnlen(name, NAME_BYTES_MAX + 1) > NAME_BYTES_MAX) {
        g_set_error(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS,
                    _("the limit %s is reached: a name of more than %d bytes is not sent"),
                    limit_id_get_name(LIMIT_NAME_BYTES), NAME_BYTES_MAX);
        return FALSE;
    }
    if (bus_string_is_valid(name))
        return TRUE;
    g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                        _("a name must be UTF-8 without noncharacters"));
    return FALSE;
}

gboolean
web_locks_manager_check_lock_name(const char *name, GError **error)
{
    if (name[0] != '-')
        return web_locks_manager_check_name(name, error);
    g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED,
                        _("names that begin with '-' are reserved"));
    return FALSE;
}

gboolean
web_locks_manager_check_request(WebLocksManager *self,
                                const char *name,
                                const RequestOptions *options,
                                GError **error)
{
    return web_locks_manager_check(self, error) && web_locks_manager_check_lock_name(name, error) &&
           request_options_check(options, error);
}

/**
 * web_locks_manager_request_async:
 * @self: a manager
 * @name: the resource name: UTF-8, at most 1,024 bytes, not beginning with `-`; may be empty
 * @options: (nullable): the options of the request; %NULL for the defaults
 * @cancellable: (nullable): aborts the request
 * @callback: (scope async) (nullable): called when the lock is granted or the request has failed
 * @user_data: for @callback
 *
 * Requests a lock (section 4.1 of the standard). Requests for the same name are granted in the
 * order in which they were made.
 *
 * @cancellable is the standard's `AbortSignal` (section 4.3). If it is cancelled already, no
 * request is made. While the request is pending, cancelling aborts it. After the grant it has no
 * effect. A request with [property@WebLocks.Options:steal] that is cancelled before its result
 * arrives may have ended the locks of the holders; the stolen lock is then released.
 *
 * Since: 0.1
 */
void
web_locks_manager_request_async(WebLocksManager *self,
                                const char *name,
                                WebLocksOptions *options,
                                GCancellable *cancellable,
                                GAsyncReadyCallback callback,
                                gpointer user_data)
{
    g_auto(RequestOptions) values = {0};

    g_return_if_fail(WEB_LOCKS_IS_MANAGER(self));
    g_return_if_fail(name != NULL);
    g_return_if_fail(options == NULL || WEB_LOCKS_IS_OPTIONS(options));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));

    request_options_init(&values, options);
    /* The cancellable is checked after name and options, as in the standard. */
    web_locks_manager_start_request(
        self, name, &values,
        caller_async(self, web_locks_manager_request_async, cancellable, callback, user_data));
}

/**
 * web_locks_manager_request_finish:
 * @self: a manager
 * @result: the result of web_locks_manager_request_async()
 * @error: return location for an error
 *
 * Finishes an operation started with web_locks_manager_request_async().
 *
 * Returns %NULL without an error if the lock was not available, which only happens with
 * [property@WebLocks.Options:if-available]:
 *
 * ```c
 * lock = web_locks_manager_request_finish(manager, result, &error);
 * if (error != NULL)
 *     g_warning("No lock: %s", error->message);
 * else if (lock == NULL)
 *     g_message("Another window has the document");
 * else
 *     save_document(document);
 * ```
 *
 * Errors: `G_IO_ERROR_CANCELLED`, `G_IO_ERROR_INVALID_ARGUMENT`,
 * [error@WebLocks.Error.NOT_SUPPORTED], [error@WebLocks.Error.SECURITY],
 * [error@WebLocks.Error.TIMEOUT], [error@WebLocks.Error.LIMITS],
 * [error@WebLocks.Error.INVALID_STATE], [error@WebLocks.Error.CLOSED] and
 * [error@WebLocks.Error.UNAVAILABLE]; the last one also if a request with
 * [property@WebLocks.Options:if-available], or one with [property@WebLocks.Options:steal] and no
 * time-out, has no answer after 25 seconds.
 *
 * Returns: (transfer full) (nullable): the lock; %NULL without an error if it was not available
 * Since: 0.1
 */
ASYNC_RESULT_FINISH(WebLocksLock, WebLocksManager, web_locks_manager_request)

/**
 * web_locks_manager_request_sync:
 * @self: a manager
 * @name: the resource name
 * @options: (nullable): the options of the request; %NULL for the defaults
 * @cancellable: (nullable): aborts the request, from another thread
 * @error: return location for an error
 *
 * Requests a lock, and waits until it is granted: see web_locks_manager_request_async() and
 * web_locks_manager_request_finish(). The main context of the agent is not run meanwhile.
 *
 * To wait for a lock can take any time: a time-out and @cancellable end it immediately, also while
 * the service is stopped or the bus does not answer. With [property@WebLocks.Options:if-available]
 * or [property@WebLocks.Options:steal] it doesn't wait for a lock, and fails with
 * [error@WebLocks.Error.UNAVAILABLE] after 25 seconds.
 *
 * Returns: (transfer full) (nullable): the lock; %NULL without an error if it was not available
 * Since: 0.1
 */
WebLocksLock *
web_locks_manager_request_sync(WebLocksManager *self,
                               const char *name,
                               WebLocksOptions *options,
                               GCancellable *cancellable,
                               GError **error)
{
    g_auto(RequestOptions) values = {0};
    SyncCall sync;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(self), NULL);
    g_return_val_if_fail(name != NULL, NULL);
    g_return_val_if_fail(options == NULL || WEB_LOCKS_IS_OPTIONS(options), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    request_options_init(&values, options);
    web_locks_manager_start_request(self, name, &values, caller_of_sync(&sync, cancellable));
    return sync_call_wait(&sync, error);
}
