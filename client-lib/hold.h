/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock that the service says we hold: what WebLocksLock is the application's handle of.
 *
 * It is apart from that object so that the object may be dropped in any thread while the service's
 * word about the lock arrives in another. Its state moves once, from held to one of the others; the
 * connection's gate moves it, others may read it. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/connection.h"
#include "client-lib/ledger.h"
#include "client-lib/ticket.h"

typedef enum {
    HOLD_HELD,
    HOLD_RELEASED, /* by its holder */
    HOLD_LOST,     /* see loss_reason */
} HoldState;

/* The WebLocksLock, weakly, and how it is told. */
typedef struct {
    GWeakRef lock;
    void (*tell_lost)(gpointer lock, const char *reason);
} LockRef;

typedef struct {
    LedgerEntry entry;
    Connection *connection;
    char *path; /* of the bucket object */
    guint64 token;
    char *name;
    WebLocksMode mode;

    int state;               /* a HoldState; atomic */
    const char *loss_reason; /* the wire's word; written before `state` */
    gboolean is_missing;     /* the service came back, and does not know it */
    LockRef *lock;           /* NULL: nobody has it yet */
} Hold;

/* In the ledger, and in it until it isn't held any more. */
Hold *hold_new(Connection *connection,
               const char *path,
               guint64 id,
               guint64 token,
               const char *name,
               WebLocksMode mode);
Hold *hold_ref(Hold *self);
void hold_unref(gpointer self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Hold, hold_unref)

/* FALSE in the child of a fork too. */
gboolean hold_is_held(const Hold *self);

/* The object that is told, in the connection's context, if the hold is lost; a weak reference. */
void hold_set_lock(Hold *self, gpointer lock, void (*tell_lost)(gpointer lock, const char *reason));

/* Lets go of it, and waits for no answer; nothing if it isn't held. From any thread. */
void hold_drop(Hold *self);

/* The result is TRUE, or why the lock was not there to be released. Inside the gate; takes the
 * ticket. */
void hold_release(Hold *self, Ticket *ticket);
