/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock request [4.1], and the lock that is held after it was granted.
 *
 * The application's handle of the lock is an object of its own, so that it can be dropped in any
 * thread while messages about the lock are handled in another one. A request that is cancelled, or
 * has timed out, is given up at once, whatever the service makes of it: the messages that give it
 * back are sent behind it. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/completion.h"
#include "client-lib/engine/lock-table.h"
#include "client-lib/options-private.h"

typedef struct Request Request;

/* How a lock is handed to the application. */
typedef struct {
    /* A GObject; it has a reference to the request, and takes it. Called with the lock held. */
    gpointer (*lock_new)(Request *take_request);
    /* Told without the lock, in the agent's context. */
    void (*lock_lost)(gpointer lock, PacketReason reason);
} RequestFuncs;

/* The result is what lock_new() returned; NULL: it was not available. The session lock is held.
 * `options` has been checked. */
void request_start(LockTable *table,
                   Session *session,
                   const RequestFuncs *funcs,
                   GRefString *bucket,
                   const char *name,
                   const RequestOptions *options,
                   Caller caller);

/* ---- of a request that was granted; from any thread */

Request *request_ref(Request *self);
void request_unref(Request *self);

Session *request_get_session(const Request *self);
const char *request_get_name(const Request *self);
WebLocksMode request_get_mode(const Request *self);
guint64 request_get_token(const Request *self);

/* FALSE in the child of a fork too. */
gboolean request_is_held(const Request *self);

/* Why it is not held any more; NULL while it is, or after it was released. */
GError *request_get_loss(const Request *self);

/* Releases it without waiting for an answer; nothing if it is not held. */
void request_drop(Request *self);

/* The same; and the object that lock_new() returned ends: nothing is told to it any more. */
void request_forget_lock(Request *self);

/* The result is TRUE, or why the lock was not there to be released. FALSE: it was not held. */
gboolean request_release(Request *self, Caller caller);
