/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "call-queue.h"

void
call_queue_init(CallQueue *queue, CallQueueTotals *totals)
{
    *queue = (CallQueue){.group = &totals->n_bytes_unidentified, .totals = totals};
    g_queue_init(&queue->calls);
}

void
call_queue_clear(CallQueue *queue)
{
    LockCall *call;

    while ((call = call_queue_pop(queue)) != NULL)
        lock_call_free(call);
}

void
call_queue_set_account(CallQueue *queue, LimitsAccount *account)
{
    *queue->group -= queue->n_bytes;
    queue->group =
        account->scope == SCOPE_APP ? &account->parent->n_bytes_waiting : &account->n_bytes_waiting;
    *queue->group += queue->n_bytes;
}

void
call_queue_push(CallQueue *queue, const LockCall *call, const Limits *limits)
{
    LockCall *copy = lock_call_copy(call, limits);

    g_queue_push_tail(&queue->calls, copy);
    queue->n_bytes += copy->n_bytes;
    *queue->group += copy->n_bytes;
    queue->totals->n_bytes += copy->n_bytes;
}

LockCall *
call_queue_pop(CallQueue *queue)
{
    LockCall *call = g_queue_pop_head(&queue->calls);

    if (call == NULL)
        return NULL;
    queue->n_bytes -= call->n_bytes;
    *queue->group -= call->n_bytes;
    queue->totals->n_bytes -= call->n_bytes;
    return call;
}

gboolean
call_queue_has_room(const CallQueue *queue, const Limits *limits)
{
    return queue->n_bytes < limits->max[LIMIT_BYTES_WAITING];
}
