/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A request that was granted: what its lock does from then on. This is private to request.c, which
 * has what a request does before, and held-lock.c; see request.h.
 *
 * Except for request_is_held() and the like, all functions are called with the session lock held.
 */

#pragma once

#include "client-lib/engine/request.h"

typedef enum {
    STATE_ASKING, /* the service has not answered the request */
    STATE_WAITING,
    STATE_HELD,
    STATE_RELEASED, /* released by the application; the release may be unanswered */
    STATE_LOST,
    STATE_OVER, /* ended without a grant */
} State;

struct Request {
    LockEntry entry;
    gatomicrefcount n_refs; /* one for the table, one for the lock object */
    Session *session;
    LockTable *table; /* NULL if the entry is not in it */

    int state;             /* a State; read atomically, written with the session lock held */
    Completion completion; /* of the request, and then of the release */
    SessionTimer timer;    /* the time-out of the request or of the release */
    gint64 began_us;
    guint n_refusals;

    guint64 token;
    LockCell *cell;           /* open for this lock until it is closed; NULL: an ordinary lock */
    int is_wanted;            /* a gboolean; atomic as `state` */
    int is_downgraded;        /* likewise */
    RequestChanges changes;   /* that are queued for the lock object */
    gpointer lock;            /* the application's lock object, borrowed; NULL: disposed of */
    guint n_notifying;        /* notifications of it that run, each within the one before */
    PacketReason loss_reason; /* 0: none; written before `state` */
    GError *error;            /* of a lost lock; written before `state` */
    gboolean is_missing;      /* the release was unanswered, and the new service does not list it */

    GRefString *bucket;
    RequestOptions options;
    char name[];
};

static inline State
request_get_state(const Request *self)
{
    return (State)g_atomic_int_get(&self->state);
}

static inline void
request_set_state(Request *self, State state)
{
    g_atomic_int_set(&self->state, (int)state);
}

/* The result of the request is a new lock object. */
void held_lock_begin(Request *self, guint64 token);

/* The lock was granted in the answer to the request: its cell may be open. */
void held_lock_find_cell(Request *self, guint64 token);

/* What the service has sent about a held lock: it has ended, or it has changed whether somebody
 * waits for it. */
void held_lock_end(Request *self, PacketReason reason);
void held_lock_set_wanted(Request *self, gboolean is_wanted);

/* Compares a held lock with what the service has listed, or NULL. */
void held_lock_compare(Request *self, const PacketLiveEntry *live);

/* The RELEASE was answered. */
void held_lock_take_release_answer(Request *self, const PacketAnswer *answer);
