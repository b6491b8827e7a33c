/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-queue.h"

#include "agent.h"
#include "effects.h"
#include "lock-manager.h"
#include "lock-request.h"
#include "permit.h"
#include "principal.h"
#include "user-agent.h"

LockQueue *
lock_queue_from_name(const char *name)
{
    return (LockQueue *)((char *)name - G_STRUCT_OFFSET(LockQueue, name));
}

LockQueue *
lock_queue_get(LockManager *manager, const char *name)
{
    const char *found = g_hash_table_lookup(manager->queues, name);
    gsize name_size = strlen(name) + 1;
    LockQueue *queue;

    if (found != NULL)
        return lock_queue_ref(lock_queue_from_name(found));

    queue = g_malloc0(sizeof(LockQueue) + name_size);
    queue->refs = 1;
    queue->manager = lock_manager_ref(manager);
    if (manager->clustered)
        queue->permit = permit_new();
    memcpy(queue->name, name, name_size);
    g_queue_init(&queue->held);
    g_queue_init(&queue->pending);
    g_hash_table_add(manager->queues, queue->name);
    return queue;
}

LockQueue *
lock_queue_ref(LockQueue *queue)
{
    queue->refs++;
    return queue;
}

void
lock_queue_unref(LockQueue *queue)
{
    if (--queue->refs > 0)
        return;

    g_assert(queue->held.length == 0);
    g_assert(queue->pending.length == 0);
    if (queue->permit != NULL)
        permit_free(queue->permit);
    g_hash_table_remove(queue->manager->queues, queue->name);
    lock_manager_unref(queue->manager);
    g_free(queue);
}

gboolean
lock_queue_admits(const LockQueue *queue, LockMode mode)
{
    const LockRequest *holder;

    if (queue->held.length == 0)
        return TRUE;

    /* The held locks are either all shared or a single exclusive one, so the first one decides. */
    holder = queue->held.head->data;
    return mode == LOCK_MODE_SHARED && holder->mode == LOCK_MODE_SHARED;
}

static void
grant(LockQueue *queue, LockRequest *request)
{
    UserAgent *user_agent = queue->manager->principal->user_agent;

    g_assert(!request->agent->terminated);

    g_queue_unlink(&queue->pending, &request->in_queue);
    g_queue_push_tail_link(&queue->held, &request->in_queue);
    user_agent_remove_deadline(request);
    queue->manager->n_held++;
    request->state = LOCK_REQUEST_HELD;
    request->undecided = UNDECIDED_NONE;
    request->token =
        queue->permit != NULL ? permit_next_token(queue) : lock_manager_next_token(queue->manager);
    request->since_us = user_agent->now_us;
    effects_append(&user_agent->effects, EFFECT_GRANTED, request);
}

void
lock_queue_end_held(LockQueue *queue, EffectKind effect_kind)
{
    while (queue->held.head != NULL)
        lock_manager_end_request(queue->manager, queue->held.head->data, effect_kind);
}

void
lock_queue_process(LockQueue *queue)
{
    while (queue->pending.head != NULL) {
        LockRequest *request = queue->pending.head->data;

        if (!lock_request_is_grantable(request))
            return;
        grant(queue, request);
    }
}

void
lock_queue_touch(LockQueue *queue, GPtrArray *touched)
{
    if (queue->touched)
        return;

    queue->touched = TRUE;
    g_ptr_array_add(touched, lock_queue_ref(queue));
}

void
lock_queue_process_touched(GPtrArray *touched)
{
    for (guint i = 0; i < touched->len; i++) {
        LockQueue *queue = touched->pdata[i];

        queue->touched = FALSE;
        lock_queue_process(queue);
        lock_queue_unref(queue);
    }
    g_ptr_array_set_size(touched, 0);
}
