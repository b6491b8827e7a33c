/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The data of lock requests: a request [2.5] which, after the grant, is the lock [2.4]; the queue
 * of one resource name; and the effects of operations. The operations are in lock-manager.h. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-mode.h"
#include "permit-mode.h"

/* ---- requests */

typedef enum {
    LOCK_REQUEST_PENDING,
    LOCK_REQUEST_HELD,
    LOCK_REQUEST_ENDED,
} LockRequestState;

/* The standard's LockOptions [3.2], and the additional options timeout, slots, why, for and key. */
typedef struct {
    LockMode mode;
    guint32 slots; /* of a counting lock; 0: not given, which is 1 */
    gboolean if_available;
    gboolean steal;
    gboolean signal;     /* the caller has an AbortSignal; only used for checks */
    guint32 timeout_ms;  /* 0: none */
    guint64 key;         /* chosen by the caller; 0: none */
    const char *why;     /* "": none */
    const char *command; /* the option `for`; NULL or "": none */
    Cell *cell;          /* for the lock if it is granted at once: cell.h; NULL: none */
} LockOptions;

/* A request and its lock are one object, because they have one id from Request to Release, and a
 * grant can then move it from one list to another without an allocation. `state` changes PENDING ->
 * HELD -> ENDED or PENDING -> ENDED.
 *
 * A live request is in three lists, with a link for each: its queue's (`pending` or `held`), its
 * agent's and its manager's. A pending request with a time-out is also in the deadlines, and a held
 * lock is in its agent's `untold` while its holder is to be notified (wanted.h). An ended request
 * is in no list and is kept only by effects. A request owns references to its agent and its queue.
 */
struct LockRequest {
    guint refs;
    LockRequestState state : 8;
    LockMode mode : 8;
    Undecided undecided : 16; /* only while pending, and only in a clustered bucket */
    guint32 slots; /* how many locks of this kind can be held together; 1: it is not counting */
    /* What service/state notes: it has changed in this turn; it has a record. */
    gboolean is_noted : 8;
    gboolean is_stored : 8;
    /* Whether its holder knows that somebody waits for it: written by wanted.c. */
    gboolean is_told_wanted : 8;
    guint64 id;         /* unique within the agent */
    guint64 key;        /* unique among the agent's live requests; 0: none */
    guint64 token;      /* the fencing token; 0 while pending */
    guint64 sequence;   /* grows with each request of the bucket */
    gint64 since_us;    /* monotonic; when the request entered `state` */
    gint64 deadline_ms; /* monotonic; 0: none */
    char *why;          /* NULL: none */
    char *command;      /* the option `for`; NULL: none */
    Agent *agent;
    LockQueue *queue;
    GList in_queue;
    GList in_agent;
    GList in_manager;
    GList *in_untold; /* NULL: it is not */
    union {
        GSequenceIter *in_deadlines; /* while pending; NULL: it has no time-out */
        Cell *cell;                  /* while held: lock_request_get_cell() */
    };
};

/* The cell by which its client may leave and enter the lock (cell.h), borrowed; or NULL. */
static inline Cell *
lock_request_get_cell(const LockRequest *request)
{
    return request->state == LOCK_REQUEST_HELD ? request->cell : NULL;
}

/* Creates a pending request that is in no list yet. Returns a new reference. */
LockRequest *lock_request_new(Agent *agent, LockQueue *queue, const LockOptions *options);
LockRequest *lock_request_ref(LockRequest *request);

void lock_request_unref(LockRequest *request);

/* The number of text bytes that a request is charged for: its bucket, name, `why` and `for`. The
 * last two may be NULL. */
guint32 lock_text_bytes(const char *bucket, const char *name, const char *why, const char *command);
guint32 lock_request_get_text_bytes(const LockRequest *request);

/* [2.5] Whether this pending request can be granted: it is the first in its queue, the held locks
 * admit it, and so does the permit, if the queue has one. */
gboolean lock_request_is_grantable(const LockRequest *request);

/* ---- effects: what the core's operations have changed, as data
 *
 * An operation changes the state and appends effects; it never calls out. The caller reads the
 * effects when the state is consistent, turns them into stored records and messages, and clears the
 * list. Each effect owns a reference to its request, so that its agent, name and bucket still
 * exist. */

typedef enum {
    EFFECT_WAITING, /* a new request has to wait */
    EFFECT_GRANTED,
    EFFECT_DOWNGRADED,  /* an exclusive lock is shared now */
    EFFECT_CELL_CLOSED, /* a held lock with a cell is an ordinary one now; nobody is notified */
    /* The following are the ends of requests and locks. */
    EFFECT_RELEASED,
    EFFECT_ABORTED,
    EFFECT_STOLEN,
    EFFECT_TIMED_OUT,
    EFFECT_TERMINATED,
    EFFECT_LOST,
    EFFECT_UNAVAILABLE, /* an undecided request: see permit.h */
    N_EFFECT_KINDS,
} EffectKind;

typedef struct {
    EffectKind kind;
    LockRequest *request; /* an owned reference */
} Effect;

struct Effects {
    GArray *list; /* of Effect */
};

/* Takes a new reference to `request`. */
void effects_append(Effects *effects, EffectKind kind, LockRequest *request);

guint effects_get_length(const Effects *effects);
const Effect *effects_get(const Effects *effects, guint index);

/* Removes all effects. This usually drops the last references to requests that have ended. */
void effects_clear(Effects *effects);

/* ---- queues */

/* One resource name of one bucket: its held locks and its lock request queue [2.5].
 *
 * `held` has either any number of shared locks, or exclusive locks with the same `slots`, and not
 * more than that: one, unless they are counting locks. `pending` is in request
 * order; between operations its first request is not grantable, since every operation that could
 * make it grantable processes the queue. A queue owns a reference to its manager, and is referenced
 * by its requests; it is in the manager's table as long as it exists. In a bucket that several
 * hosts share, it also has a permit (permit.h). */
struct LockQueue {
    guint refs;
    gboolean touched : 8; /* in a list of queues to be processed */
    /* Private to wanted.c: as of the last update; all holders have to be visited once more; the
     * next holder that is to be visited, or NULL; the link in UserAgent.wanted, or NULL. */
    gboolean is_wanted : 8;
    gboolean visits_again : 8;
    GList *to_visit;
    GList *in_wanted;
    LockManager *manager;
    Permit *permit;     /* owned; NULL unless the manager is clustered */
    GQueue held;        /* of LockRequest, by LockRequest.in_queue, in the order of their grants;
                         * restored ones in that of their requests */
    GQueue pending;     /* of LockRequest, by LockRequest.in_queue */
    guint64 inspection; /* private to inspect.c: number of the last inspection */
    guint n_inspected;  /* private to inspect.c: pending requests visited by that inspection */
    char name[];
};

/* [2.5] Gets the lock request queue of `name`, or creates it. Returns a new reference. */
LockQueue *lock_queue_get(LockManager *manager, const char *name);
LockQueue *lock_queue_ref(LockQueue *queue);

/* Converts a key of LockManager.queues, which points to LockQueue.name, to its queue. */
LockQueue *lock_queue_from_name(const char *name);
void lock_queue_unref(LockQueue *queue);

/* Whether a lock of this mode and number of slots can be held together with the held locks. */
gboolean lock_queue_admits(const LockQueue *queue, LockMode mode, guint32 slots);

/* Add a lock, which has its token, to the held ones of its queue, and remove it. */
void lock_queue_add_held(LockRequest *request);
void lock_queue_remove_held(LockRequest *request);

/* Finds out whether somebody waits for the locks that are held, or will be. To be called when the
 * pending requests or the permit have changed. */
void lock_queue_update_wanted(LockQueue *queue);

/* Ends all held locks. The queue is not processed. */
void lock_queue_end_held(LockQueue *queue, EffectKind effect_kind);

/* [4.4] Processes the lock request queue: grants from its head until the first request that is not
 * grantable. Then it is found out whether the held locks are wanted. */
void lock_queue_process(LockQueue *queue);

/* For operations that end many requests: lock_queue_touch() adds a queue to `touched` unless it is
 * there already; lock_queue_process_touched() processes the queues after all requests have ended,
 * in the order in which they were added, and empties `touched`, which owns references. */
void lock_queue_touch(LockQueue *queue, GPtrArray *touched);
void lock_queue_process_touched(GPtrArray *touched);
