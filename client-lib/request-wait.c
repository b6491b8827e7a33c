/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Waiting for a lock in a thread that handles signals meanwhile. */

#include "config.h"

#include <glib/gi18n-lib.h>

#include "client-lib/lock-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/request-private.h"

/**
 * WebLocksRequest:
 *
 * A lock request (section 4.1 of the standard) for which a thread waits, and which stays as it is,
 * with its place in the queue, when a signal handler interrupts the wait. So a program, or the
 * interpreter of a language, can act on the signal, and then continue to wait or drop the request.
 *
 * Dropping the last reference aborts the request (section 4.3). If the lock was granted meanwhile,
 * it is released.
 *
 * A program that does not handle signals uses [method@WebLocks.Manager.request_sync].
 *
 * Since: 0.1
 */
struct _WebLocksRequest {
    GObject parent;
    WebLocksManager *manager;
    GObject *owner;            /* NULL: none */
    GCancellable *cancellable; /* NULL: none */
    SyncCall sync;
    int state; /* a State; atomic */
};

typedef enum {
    STATE_PENDING,
    STATE_WAITING, /* a thread waits */
    STATE_COMPLETED,
    STATE_ENDED, /* the result was taken */
} State;

G_DEFINE_FINAL_TYPE(WebLocksRequest, web_locks_request, G_TYPE_OBJECT)

WebLocksRequest *
web_locks_request_new_pending(WebLocksManager *manager,
                              gpointer owner,
                              GCancellable *cancellable,
                              Caller *out_caller)
{
    WebLocksRequest *self = g_object_new(WEB_LOCKS_TYPE_REQUEST, NULL);

    self->manager = g_object_ref(manager);
    g_set_object(&self->owner, owner);
    g_set_object(&self->cancellable, cancellable);
    *out_caller = caller_of_sync(&self->sync, cancellable);
    return self;
}

gboolean
web_locks_request_is_of(WebLocksRequest *self, gconstpointer owner)
{
    return self->owner == owner;
}

/**
 * web_locks_request_new:
 * @manager: a manager
 * @name: the resource name
 * @options: (nullable): the options of the request; %NULL for the defaults
 * @cancellable: (nullable): aborts the request, from another thread
 *
 * Requests a lock, as web_locks_manager_request_async() does. Errors are those of
 * web_locks_request_finish().
 *
 * Returns: (transfer full): the request
 * Since: 0.1
 */
WebLocksRequest *
web_locks_request_new(WebLocksManager *manager,
                      const char *name,
                      WebLocksOptions *options,
                      GCancellable *cancellable)
{
    WebLocksRequest *self;
    g_auto(RequestOptions) values = {0};
    Caller caller;

    g_return_val_if_fail(WEB_LOCKS_IS_MANAGER(manager), NULL);
    g_return_val_if_fail(name != NULL, NULL);
    g_return_val_if_fail(options == NULL || WEB_LOCKS_IS_OPTIONS(options), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);

    self = web_locks_request_new_pending(manager, NULL, cancellable, &caller);
    request_options_init(&values, options);
    web_locks_manager_start_request(manager, name, &values, caller);
    return self;
}

/**
 * web_locks_request_wait:
 * @self: a request
 *
 * Waits until the request is completed, or until something else has happened: a signal handler has
 * run in this thread, or the agent has received something. So it is called in a loop:
 *
 * ```c
 * while (!is_interrupted && !web_locks_request_wait(request))
 *     ;
 * ```
 *
 * A grant that arrives at the same time as a signal is not lost: the lock is the result of
 * web_locks_request_finish(), or is released when the request is dropped. Like that of any blocking
 * call, the wait is not interrupted by a handler that has run before it.
 *
 * The main context of the agent is not run meanwhile. If another thread waits for this request, or
 * in the child of a `fork()`, this returns immediately. For time limits see
 * [method@WebLocks.Manager.request_sync].
 *
 * Returns: %TRUE if web_locks_request_finish() is to be called; %FALSE to wait again
 * Since: 0.1
 */
gboolean
web_locks_request_wait(WebLocksRequest *self)
{
    gboolean is_completed;

    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(self) && self->manager != NULL, TRUE);

    if (!session_is_of_this_process(self->sync.session) ||
        !g_atomic_int_compare_and_exchange(&self->state, STATE_PENDING, STATE_WAITING))
        return TRUE;
    is_completed = sync_call_wait_once(&self->sync);
    g_atomic_int_set(&self->state, is_completed ? STATE_COMPLETED : STATE_PENDING);
    return is_completed;
}

/**
 * web_locks_request_finish:
 * @self: a request
 * @error: return location for an error
 *
 * Takes the result of a request that is completed. See [method@WebLocks.Manager.request_finish] for
 * errors; [error@WebLocks.Error.INVALID_STATE] also if the request is not completed, if its result
 * was taken already, and in the child of a `fork()`.
 *
 * Returns: (transfer full) (nullable): the lock; %NULL without an error if it was not available
 * Since: 0.1
 */
WebLocksLock *
web_locks_request_finish(WebLocksRequest *self, GError **error)
{
    g_return_val_if_fail(WEB_LOCKS_IS_REQUEST(self) && self->manager != NULL, NULL);

    if (!session_is_of_this_process(self->sync.session) ||
        !g_atomic_int_compare_and_exchange(&self->state, STATE_COMPLETED, STATE_ENDED)) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            _("the request is not completed, or its result was taken"));
        return NULL;
    }
    if (self->sync.error != NULL)
        g_propagate_error(error, g_steal_pointer(&self->sync.error));
    return g_steal_pointer(&self->sync.pointer);
}

static void
web_locks_request_finalize(GObject *object)
{
    WebLocksRequest *self = WEB_LOCKS_REQUEST(object);

    if (self->manager != NULL)
        sync_call_abandon(&self->sync);
    g_clear_object(&self->sync.pointer);
    g_clear_error(&self->sync.error);
    g_clear_object(&self->owner);
    g_clear_object(&self->cancellable);
    g_clear_object(&self->manager);
    G_OBJECT_CLASS(web_locks_request_parent_class)->finalize(object);
}

static void
web_locks_request_class_init(WebLocksRequestClass *class)
{
    G_OBJECT_CLASS(class)->finalize = web_locks_request_finalize;
}

static void
web_locks_request_init(WebLocksRequest *self)
{
}
