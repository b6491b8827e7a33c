/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One resource name of one bucket: the locks held on it and the lock request queue [2.5].
 *
 * `held` is either any number of shared locks or one exclusive lock. `pending` is in request order;
 * between operations its first request is not grantable, since every operation that could make it
 * so processes the queue. The name is found in its manager while the queue is referred to: by its
 * requests and, until they are cleared, by the effects that tell of them. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-mode.h"

struct LockQueue {
    guint refs;
    gboolean touched; /* it is in a list of queues to be processed */
    LockManager *manager;
    GQueue held;        /* of LockRequest, by LockRequest.in_queue, in the order of their grants */
    GQueue pending;     /* of LockRequest, by LockRequest.in_queue */
    guint64 inspection; /* of inspect.c: the last one that came by, and */
    guint n_inspected;  /* how many of `pending` it has seen */
    char name[];
};

/* [2.5] Gets the lock request queue of `name`, made if there is none; a new reference. */
LockQueue *lock_queue_get(LockManager *manager, const char *name);
LockQueue *lock_queue_ref(LockQueue *queue);

/* The queue with that name in it: what LockManager.queues has. */
LockQueue *lock_queue_from_name(const char *name);
void lock_queue_unref(LockQueue *queue);

/* Whether a lock of that mode goes with what is held. */
gboolean lock_queue_admits(const LockQueue *queue, LockMode mode);

/* [4.4] Processes the lock request queue: grants from its head until the first request that is not
 * grantable. */
void lock_queue_process(LockQueue *queue);

/* Queues that lost something in an operation that ends many requests at once, and are processed
 * only after all of them ended: each once, in the order in which they were first touched. `touched`
 * holds references and is empty again after processing. */
void lock_queue_touch(LockQueue *queue, GPtrArray *touched);
void lock_queue_process_touched(GPtrArray *touched);
