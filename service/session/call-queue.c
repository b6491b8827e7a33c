/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "call-queue.h"

typedef struct {
    LockCall *call;
    gsize n_bytes;
} DeferredCall;

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
    DeferredCall *deferred = g_new(DeferredCall, 1);

    deferred->call = lock_call_copy(call, limits, &deferred->n_bytes);
    g_queue_push_tail(&queue->calls, deferred);
    queue->n_bytes += deferred->n_bytes;
    *queue->group += deferred->n_bytes;
    queue->totals->n_bytes += deferred->n_bytes;
}

LockCall *
call_queue_pop(CallQueue *queue)
{
    DeferredCall *deferred = g_queue_pop_head(&queue->calls);
    LockCall *call;

    if (deferred == NULL)
        return NULL;
    call = deferred->call;
    queue->n_bytes -= deferred->n_bytes;
    *queue->group -= deferred->n_bytes;
    queue->totals->n_bytes -= deferred->n_bytes;
    g_free(deferred);
    return call;
}

gboolean
call_queue_is_empty(const CallQueue *queue)
{
    return g_queue_is_empty((GQueue *)&queue->calls);
}

gboolean
call_queue_has_room(const CallQueue *queue, const Limits *limits)
{
    return queue->n_bytes < limits->max[LIMIT_BYTES_WAITING];
}
