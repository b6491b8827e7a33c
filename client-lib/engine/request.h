/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock request [4.1] and, after it was granted, the held lock.
 *
 * The application's lock object is separate from the Request and owns a reference to it, so that
 * the application can drop the object in any thread while another thread handles messages about
 * the lock. When a request is cancelled or times out, it completes immediately; the abort or
 * release is sent after the request, and a grant that arrives later is not delivered. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/completion.h"
#include "client-lib/engine/lock-table.h"
#include "client-lib/options-private.h"

typedef struct Request Request;

typedef enum {
    REQUEST_LOST = 1,       /* request_get_error() returns why */
    REQUEST_WANTED = 2,     /* what request_is_wanted() returns has changed */
    REQUEST_DOWNGRADED = 4, /* the lock is shared now */
} RequestChanges;

/* ---- the application's lock object, which lock.c has */

/* Creates one, a GObject. Called with the session lock held. */
gpointer web_locks_lock_new(Request *take_request);

/* Called without the session lock, in the agent's main context. */
void web_locks_lock_change(gpointer lock, RequestChanges changes);

/* Whether that is to be called for REQUEST_WANTED; if not, nothing is queued for the context, which
 * may never run. Called with the session lock held. */
gboolean web_locks_lock_listens(gpointer lock);

/* ---- requests */

/* Starts a request. The result is a lock object, or NULL if the lock was not available
 * (with ifAvailable). Called with the session lock held; `options` has been validated. */
void request_start(LockTable *table,
                   Session *session,
                   GRefString *bucket,
                   const char *name,
                   const RequestOptions *options,
                   Caller caller);

/* ---- functions for a granted request; callable from any thread */

void request_unref(Request *self);

Session *request_get_session(const Request *self);
const char *request_get_name(const Request *self);
WebLocksMode request_get_mode(const Request *self); /* it may be downgraded meanwhile */
guint64 request_get_token(const Request *self);
guint64 request_get_key(const Request *self);

/* Handles what the service and the bus have sent, without waiting: a loss that has arrived is known
 * afterwards, also if no main context runs. */
void request_catch_up(Request *self);

/* With the session lock held: whether nobody holds the lock any more, as it was released or parked
 * in its cell. A lock with a cell becomes an ordinary one if it is held; otherwise it ends. */
gboolean request_is_over(Request *self);

/* Always FALSE in the child of a fork(). */
gboolean request_is_held(const Request *self);

/* Whether somebody waits for the lock; the first is always FALSE if it is not held. */
gboolean request_is_wanted(const Request *self);
gboolean request_was_wanted(const Request *self);

/* Returns the error of a lost lock, or NULL if it is held or was released. */
const GError *request_get_error(const Request *self);

/* Releases the lock without waiting for an answer. Returns FALSE, and does nothing, if it is not
 * held. */
gboolean request_drop(Request *self);

/* Like request_drop(), for the finalization of the lock object: web_locks_lock_change() is not
 * called any more. */
void request_forget_lock(Request *self);

/* Releases the lock. The result is a pointer other than NULL, or an error if the lock had been
 * lost. Returns FALSE, and starts nothing, if the lock is not held. */
gboolean request_release(Request *self, Caller caller);

/* Makes the lock shared. The result is a pointer other than NULL, or an error. A downgrade that is
 * not answered in time stays queued. */
void request_downgrade(Request *self, Caller caller);
