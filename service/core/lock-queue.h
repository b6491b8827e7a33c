/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One resource name of one bucket: its held locks and its lock request queue [2.5].
 *
 * `held` has either any number of shared locks or one exclusive lock. `pending` is in request
 * order; between operations its first request is not grantable, since every operation that could
 * make it grantable processes the queue. A queue owns a reference to its manager, and is referenced
 * by its requests; it is in the manager's table as long as it exists. In a bucket that several
 * hosts share, it also has a permit (permit.h). */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "effects.h"
#include "lock-mode.h"

struct LockQueue {
    guint refs;
    gboolean touched; /* in a list of queues to be processed */
    LockManager *manager;
    Permit *permit;     /* owned; NULL unless the manager is clustered */
    GQueue held;        /* of LockRequest, by LockRequest.in_queue, in the order of their grants */
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

/* Whether a lock of this mode is compatible with the held locks. */
gboolean lock_queue_admits(const LockQueue *queue, LockMode mode);

/* Ends all held locks. The queue is not processed. */
void lock_queue_end_held(LockQueue *queue, EffectKind effect_kind);

/* [4.4] Processes the lock request queue: grants from its head until the first request that is not
 * grantable. */
void lock_queue_process(LockQueue *queue);

/* For operations that end many requests: lock_queue_touch() adds a queue to `touched` unless it is
 * there already; lock_queue_process_touched() processes the queues after all requests have ended,
 * in the order in which they were added, and empties `touched`, which owns references. */
void lock_queue_touch(LockQueue *queue, GPtrArray *touched);
void lock_queue_process_touched(GPtrArray *touched);
