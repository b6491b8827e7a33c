/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The result of an operation, for a GTask or for a thread that waits.
 *
 * It is completed once, by the operation or by its GCancellable: that completes it within
 * g_cancellable_cancel(). A task gets its result from its own main context. All functions are
 * called with the session lock held. */

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

/* Waits for the result. The lock is held once, and released meanwhile. */
gpointer sync_call_wait(SyncCall *self, GError **error);

typedef struct CancelWatch CancelWatch;

/* Part of an operation; zero-initialized it has no result to give. */
typedef struct {
    Session *session;
    GTask *task;
    SyncCall *sync;
    CancelWatch *cancel;
} Completion;

/* For one of the two; takes the task. */
void completion_init(Completion *self, Session *session, GTask *task, SyncCall *sync);

gboolean completion_is_pending(const Completion *self);

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
