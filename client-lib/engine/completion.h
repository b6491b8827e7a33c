/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The completion of an operation, for an AsyncResult or a waiting thread.
 *
 * An operation is completed exactly once, by its result or by its GCancellable; the latter happens
 * within g_cancellable_cancel(). All functions are called with the session lock held, except where
 * noted. */

#pragma once

#include "client-lib/engine/async-result.h"
#include "client-lib/engine/session.h"

typedef struct Completion Completion;

/* A synchronous call, on the stack of the waiting thread or in a larger struct. It stays at its
 * address until it is completed or abandoned. */
typedef struct {
    Session *session;
    Completion *completion; /* NULL: completed */
    SessionWaiter waiter;
    gpointer pointer;
    GError *error;
} SyncCall;

/* Waits for the result of the operation that was started with this SyncCall. Called without the
 * session lock. The caller owns the result. In the child of a fork() nothing is waited for. */
gpointer sync_call_wait(SyncCall *self, GError **error);

/* Waits until the operation is completed, or until anything else has happened, such as a signal.
 * Returns whether it is completed; then the result is in the struct. If not, it may be called
 * again.
 */
gboolean sync_call_wait_once(SyncCall *self);

/* Completes the operation without a result, and cancels it as a cancellable would. If it is
 * completed already, its result, if that has not been taken, is still there. Called without the
 * session lock. */
void sync_call_abandon(SyncCall *self);

/* The receiver of a result: either `result`, of which the operation takes the reference, or `sync`
 * is set. */
typedef struct {
    AsyncResult *result;
    SyncCall *sync;
    GCancellable *cancellable; /* borrowed until the result is there; may be NULL */
    /* The service has queued the request for a lock, which has the option `key` there. May be
     * called again, after a restart of the service. NULL: not called. */
    void (*waits)(AsyncResult *result, guint64 key);
} Caller;

/* The arguments are those of async_result_new(). */
Caller caller_async(gpointer source,
                    gconstpointer tag,
                    GCancellable *cancellable,
                    GAsyncReadyCallback callback,
                    gpointer data);
Caller caller_of_result(AsyncResult *take_result);
Caller caller_of_sync(SyncCall *sync, GCancellable *cancellable);

typedef struct CancelWatch CancelWatch;

/* To be embedded in an operation. Zero-initialized, it is already completed. */
struct Completion {
    Session *session;
    AsyncResult *result;
    SyncCall *sync;
    CancelWatch *cancel;
    void (*cancelled)(gpointer data); /* NULL: it can't be cancelled */
    void (*waits)(AsyncResult *result, guint64 key);
    gpointer data;
};

void completion_init(Completion *self, Session *session, Caller caller);

/* Completes an operation that can't be started. Takes `error`. Called with or without the session
 * lock. */
void caller_fail(Caller caller, Session *session, GError *error);

/* Watches `cancellable`, which may be NULL: when it is cancelled, the operation completes with an
 * error, and then `cancelled` is called, as it is when the operation is abandoned. Returns FALSE if
 * it was cancelled already; then the operation has been completed, and `cancelled` is not called.
 */
gboolean completion_listen(Completion *self,
                           GCancellable *cancellable,
                           void (*cancelled)(gpointer data),
                           gpointer data);

/* Completes the operation with a pointer or an error, which it takes. If it is completed already,
 * it frees them. A pointer without `pointer_free` has nothing to free. */
void
completion_return(Completion *self, gpointer pointer, GDestroyNotify pointer_free, GError *error);
