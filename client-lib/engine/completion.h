/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result of an operation, for a GTask or for a thread that waits.
 *
 * It is completed once, by the operation or by its GCancellable: that completes it within
 * g_cancellable_cancel(). A task gets its result from its own main context. All functions are
 * called with the session lock held, unless they say otherwise. */

#pragma once

#include "client-lib/engine/session.h"

/* A sync call, on the stack of the thread that waits. */
typedef struct {
    Session *session;
    SessionWaiter waiter;
    gboolean is_over;
    gpointer pointer;
    GError *error;
} SyncCall;

/* Without the lock: waits for the result of an operation that was started with it. */
gpointer sync_call_wait(SyncCall *self, GError **error);

/* Who gets the result of an operation: exactly one of `task`, which the operation takes, and
 * `sync`. */
typedef struct {
    GTask *task;
    SyncCall *sync;
    GCancellable *cancellable; /* borrowed; may be NULL */
} Caller;

Caller caller_of_task(GTask *take_task);
Caller caller_of_sync(SyncCall *sync, GCancellable *cancellable);

typedef struct CancelWatch CancelWatch;

/* Part of an operation; zero-initialized it has no result to give. */
typedef struct {
    Session *session;
    GTask *task;
    SyncCall *sync;
    CancelWatch *cancel;
} Completion;

void completion_init(Completion *self, Session *session, Caller caller);

/* The operation can't be started: takes the error. */
void caller_fail(Caller caller, Session *session, GError *error);

/* When `cancellable` is cancelled, the completion fails, and `cancelled` is called. FALSE: it was
 * cancelled before, and the completion has failed. */
gboolean completion_listen(Completion *self,
                           GCancellable *cancellable,
                           void (*cancelled)(gpointer data),
                           gpointer data);

/* The result; takes what it is given. If it is over, that is freed. */
void completion_return_pointer(Completion *self, gpointer pointer, GDestroyNotify pointer_free);
void completion_return_boolean(Completion *self, gboolean boolean);
void completion_return_error(Completion *self, GError *error);
