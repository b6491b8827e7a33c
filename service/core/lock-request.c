/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-request.h"

#include "agent.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "permit.h"

LockRequest *
lock_request_new(Agent *agent, LockQueue *queue, const LockOptions *options)
{
    LockRequest *request = g_new0(LockRequest, 1);

    request->refs = 1;
    request->state = LOCK_REQUEST_PENDING;
    request->mode = options->mode;
    request->id = ++agent->last_id;
    request->key = options->key;
    request->why = options->why[0] != '\0' ? g_strdup(options->why) : NULL;
    request->agent = agent_ref(agent);
    request->queue = lock_queue_ref(queue);
    request->in_queue.data = request;
    request->in_agent.data = request;
    request->in_manager.data = request;
    return request;
}

LockRequest *
lock_request_ref(LockRequest *request)
{
    request->refs++;
    return request;
}

void
lock_request_unref(LockRequest *request)
{
    if (--request->refs > 0)
        return;

    g_assert(request->state == LOCK_REQUEST_ENDED);
    lock_queue_unref(request->queue);
    agent_unref(request->agent);
    g_free(request->why);
    g_free(request);
}

/* All strings are in memory, so their sum can't overflow. */
guint32
lock_text_bytes(const char *bucket, const char *name, const char *why)
{
    gsize n_bytes = strlen(bucket) + strlen(name) + strlen(why);

    return (guint32)MIN(n_bytes, G_MAXINT32);
}

guint32
lock_request_get_text_bytes(const LockRequest *request)
{
    const LockQueue *queue = request->queue;

    return lock_text_bytes(queue->manager->bucket, queue->name,
                           request->why != NULL ? request->why : "");
}

gboolean
lock_request_is_grantable(const LockRequest *request)
{
    const LockQueue *queue = request->queue;

    if (queue->pending.head != &request->in_queue)
        return FALSE;
    if (queue->permit != NULL)
        return permit_admits(queue, request->mode, request->sequence);
    return lock_queue_admits(queue, request->mode);
}
