/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock request [2.5], and the lock [2.4] it becomes when it is granted.
 *
 * One object for both, because they are one thing on the wire (one id from Request to Release) and
 * a grant then moves it from one list to another without an allocation. `state` only ever goes
 * PENDING -> HELD -> ENDED or PENDING -> ENDED.
 *
 * A live request is in three lists, each by a link of its own: its queue's (`pending` or `held`),
 * its agent's and its manager's; and in the deadlines while it waits with a time-out. An ended one
 * is in none and only lives on for the effects that tell of it. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-mode.h"

typedef enum {
    LOCK_REQUEST_PENDING,
    LOCK_REQUEST_HELD,
    LOCK_REQUEST_ENDED,
} LockRequestState;

/* The standard's LockOptions [3.2], and ours beside them (timeout, why, key). */
typedef struct {
    LockMode mode;
    gboolean if_available;
    gboolean steal;
    gboolean signal;    /* the caller holds an AbortSignal; only checked, never kept */
    guint32 timeout_ms; /* of waiting; 0 waits for ever */
    guint64 key;        /* of the caller's choice; 0 is none */
    const char *why;    /* "" is none */
} LockOptions;

/* What the store keeps of a request besides its agent, bucket and name. */
typedef struct {
    LockRequestState state;
    LockMode mode;
    guint64 id;
    guint64 key;
    guint64 token;
    guint64 sequence;
    gint64 since_us;
    gint64 deadline_ms;
    const char *why; /* "" is none */
} LockRequestParts;

struct LockRequest {
    guint refs;
    LockRequestState state;
    LockMode mode;
    guint is_saved : 1; /* the store's: it has a record of it */
    guint is_dirty : 1; /* the store's: that is not as it is now */
    guint64 id;         /* the agent's */
    guint64 key;        /* the agent's; 0 is none */
    guint64 token;      /* fencing token once held; 0 before */
    guint64 sequence;   /* the manager's: orders requests of one bucket by when they were made */
    gint64 since_us;    /* monotonic; when `state` began */
    gint64 deadline_ms; /* monotonic; 0 is none */
    char *why;          /* NULL is none */
    Agent *agent;
    LockQueue *queue;
    GList in_queue;
    GList in_agent;
    GList in_manager;
    GList in_deadlines;
};

/* A new request, waiting in no list yet. */
LockRequest *lock_request_new(Agent *agent, LockQueue *queue, const LockOptions *options);
LockRequest *lock_request_ref(LockRequest *request);

/* What the store keeps of it; `why` is borrowed. */
LockRequestParts lock_request_get_parts(const LockRequest *request);
void lock_request_unref(LockRequest *request);

/* What is charged for its texts. */
guint32 lock_text_bytes(const char *bucket, const char *name, const char *why);
guint32 lock_request_get_text_bytes(const LockRequest *request);

/* [2.5] Whether this waiting request could be granted now: it is the first of its queue, and its
 * mode goes with what is held. */
gboolean lock_request_is_grantable(const LockRequest *request);
