/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The deferred calls of a client: calls on the bus that have to wait because the client is not
 * identified yet, has unread replies, or does not read its lock socket.
 *
 * Their bytes are counted for the client, for all clients of its uid (in the uid's account;
 * unidentified clients are counted together) and in total. The client and the total have limits;
 * the sum of the uid decides whose calls are dropped when the total is too great. The queue owns
 * its calls. */

#pragma once

#include <glib.h>

#include "lock-call.h"

/* The sums of all queues of the service. */
typedef struct {
    gsize n_bytes_unidentified;
    gsize n_bytes;
} CallQueueTotals;

typedef struct {
    GQueue calls; /* of LockCall, owned */
    gsize n_bytes;
    gsize *group;            /* the bytes of all clients of the same uid; borrowed */
    CallQueueTotals *totals; /* borrowed */
} CallQueue;

void call_queue_init(CallQueue *queue, CallQueueTotals *totals);

/* Drops all calls. */
void call_queue_clear(CallQueue *queue);

/* To be called when the client has been identified. */
void call_queue_set_account(CallQueue *queue, LimitsAccount *account);

/* Appends a copy of the call. */
void call_queue_push(CallQueue *queue, const LockCall *call, const Limits *limits);

/* Removes the first call and returns it, owned by the caller. Returns NULL if the queue is empty.
 */
LockCall *call_queue_pop(CallQueue *queue);

static inline gboolean
call_queue_is_empty(const CallQueue *queue)
{
    return queue->calls.length == 0;
}

/* Whether one more call may be appended. The last one may exceed the limit, by one call. */
gboolean call_queue_has_room(const CallQueue *queue, const Limits *limits);
