/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock request [2.5] and, after the grant, the lock [2.4].
 *
 * Both are one object, because they have one id from Request to Release, and a grant can then move
 * it from one list to another without an allocation. `state` changes PENDING -> HELD -> ENDED or
 * PENDING -> ENDED.
 *
 * A live request is in three lists, with a link for each: its queue's (`pending` or `held`), its
 * agent's and its manager's. A pending request with a time-out is also in the deadlines. An ended
 * request is in no list and is kept only by effects. A request owns references to its agent and its
 * queue. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-mode.h"
#include "permit-mode.h"

typedef enum {
    LOCK_REQUEST_PENDING,
    LOCK_REQUEST_HELD,
    LOCK_REQUEST_ENDED,
} LockRequestState;

/* The standard's LockOptions [3.2], and the additional options timeout, why and key. */
typedef struct {
    LockMode mode;
    gboolean if_available;
    gboolean steal;
    gboolean signal;    /* the caller has an AbortSignal; only used for checks */
    guint32 timeout_ms; /* 0: none */
    guint64 key;        /* chosen by the caller; 0: none */
    const char *why;    /* "": none */
} LockOptions;

struct LockRequest {
    guint refs;
    LockRequestState state;
    LockMode mode;
    Undecided undecided : 16; /* only while pending, and only in a clustered bucket */
    /* What service/state notes: it has changed in this turn; it has a record. */
    gboolean is_noted : 8;
    gboolean is_stored : 8;
    guint64 id;         /* unique within the agent */
    guint64 key;        /* unique among the agent's live requests; 0: none */
    guint64 token;      /* the fencing token; 0 while pending */
    guint64 sequence;   /* grows with each request of the bucket */
    gint64 since_us;    /* monotonic; when the request entered `state` */
    gint64 deadline_ms; /* monotonic; 0: none */
    char *why;          /* NULL: none */
    Agent *agent;
    LockQueue *queue;
    GList in_queue;
    GList in_agent;
    GList in_manager;
    GSequenceIter *in_deadlines; /* NULL: it has no time-out */
};

/* Creates a pending request that is in no list yet. Returns a new reference. */
LockRequest *lock_request_new(Agent *agent, LockQueue *queue, const LockOptions *options);
LockRequest *lock_request_ref(LockRequest *request);

void lock_request_unref(LockRequest *request);

/* The number of text bytes that a request is charged for: its bucket, name and `why`. */
guint32 lock_text_bytes(const char *bucket, const char *name, const char *why);
guint32 lock_request_get_text_bytes(const LockRequest *request);

/* [2.5] Whether this pending request can be granted: it is the first in its queue, its mode is
 * compatible with the held locks, and the permit, if the queue has one, admits it. */
gboolean lock_request_is_grantable(const LockRequest *request);
