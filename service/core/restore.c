/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Restores agents' requests and locks from the stored state: they are added to the same lists as
 * new ones. Data that can't be the result of the core's operations is refused. */

#include "agent.h"
#include "deadlines.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "user-agent.h"

static gboolean
is_possible(const LockManager *manager, const Agent *agent, const LockRequestParts *parts)
{
    return agent->principal == manager->principal && parts->id != 0 &&
           parts->id <= agent->last_id && agent_find_request(agent, parts->id) == NULL &&
           agent_find_key(agent, parts->key) == NULL && parts->sequence > manager->last_sequence &&
           (parts->state == LOCK_REQUEST_HELD) == (parts->token != 0);
}

static LockRequest *
new_from_parts(Agent *agent, LockQueue *queue, const LockRequestParts *parts)
{
    const LockOptions options = {.mode = parts->mode, .key = parts->key, .why = parts->why};
    guint64 last_id = agent->last_id;
    LockRequest *request = lock_request_new(agent, queue, &options);

    agent->last_id = last_id;
    request->id = parts->id;
    request->state = parts->state;
    request->token = parts->token;
    request->sequence = parts->sequence;
    request->since_us = MIN(parts->since_us, agent->principal->user_agent->now_us);
    return request;
}

/* Limits the deadline to now plus the request's own time-out. This matters if the clock is behind
 * the one of the stored times, as in another time namespace: see docs/reliability.md. */
static gint64
limit_deadline(const UserAgent *user_agent, const LockRequestParts *parts)
{
    gint64 timeout_ms = parts->deadline_ms - (parts->since_us + 999) / 1000;

    return MIN(parts->deadline_ms,
               user_agent_deadline_ms(user_agent, (guint32)CLAMP(timeout_ms, 0, G_MAXUINT32)));
}

static void
enter_lists(LockManager *manager, LockRequest *request, const LockRequestParts *parts)
{
    UserAgent *user_agent = manager->principal->user_agent;
    LockQueue *queue = request->queue;

    agent_add_request(request->agent, request);
    g_queue_push_tail_link(&manager->requests, &request->in_manager);
    manager->last_sequence = request->sequence;
    if (request->state == LOCK_REQUEST_HELD) {
        manager->last_token = MAX(manager->last_token, request->token);
        manager->n_held++;
        g_queue_push_tail_link(&queue->held, &request->in_queue);
        return;
    }
    g_queue_push_tail_link(&queue->pending, &request->in_queue);
    if (parts->deadline_ms > 0)
        deadlines_add(&user_agent->deadlines, request, limit_deadline(user_agent, parts));
}

LockRequest *
lock_manager_restore(LockManager *manager,
                     Agent *agent,
                     const char *name,
                     const LockRequestParts *parts)
{
    LockRequest *request = NULL;
    LockQueue *queue;

    if (!is_possible(manager, agent, parts))
        return NULL;
    queue = lock_queue_get(manager, name);
    if (parts->state != LOCK_REQUEST_HELD || lock_queue_admits(queue, parts->mode)) {
        request = new_from_parts(agent, queue, parts);
        enter_lists(manager, request, parts);
    }
    lock_queue_unref(queue);
    return request;
}

static void
touch_all(Principal *principal, GPtrArray *touched)
{
    GHashTableIter managers, queues;
    LockManager *manager;
    const char *name;

    g_hash_table_iter_init(&managers, principal->managers);
    while (g_hash_table_iter_next(&managers, NULL, (gpointer *)&manager)) {
        g_hash_table_iter_init(&queues, manager->queues);
        while (g_hash_table_iter_next(&queues, (gpointer *)&name, NULL))
            lock_queue_touch(lock_queue_from_name(name), touched);
    }
}

void
user_agent_process_all(UserAgent *user_agent)
{
    g_autoptr(GPtrArray) touched = g_ptr_array_new();
    GHashTableIter iter;
    Principal *principal;

    g_hash_table_iter_init(&iter, user_agent->principals);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&principal))
        touch_all(principal, touched);
    lock_queue_process_touched(touched);
}
