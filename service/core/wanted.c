/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "wanted.h"

#include "lock-manager.h"
#include "principal.h"
#include "user-agent.h"

/* ---- the holders of a queue */

static GQueue *
get_changed(const LockQueue *queue)
{
    return &queue->manager->principal->user_agent->wanted;
}

/* Returns the new link. */
static GList *
append(GQueue *list, gpointer item)
{
    g_queue_push_tail(list, item);
    return g_queue_peek_tail_link(list);
}

/* Visits the holders from `link` to the last one; and once more all of them if the queue has
 * changed since some were visited. A visit that has begun goes on when the queue changes: else the
 * last of many holders would never be visited in a queue that changes often. */
static void
visit_from(LockQueue *queue, GList *link)
{
    if (link == NULL && queue->visits_again) {
        link = queue->held.head;
        queue->visits_again = FALSE;
    }
    queue->to_visit = link;
    if (link != NULL && queue->in_wanted == NULL)
        queue->in_wanted = append(get_changed(queue), queue);
    else if (link == NULL && queue->in_wanted != NULL)
        g_queue_delete_link(get_changed(queue), g_steal_pointer(&queue->in_wanted));
}

void
wanted_change(LockQueue *queue)
{
    queue->is_wanted = !queue->is_wanted;
    if (queue->to_visit == NULL)
        visit_from(queue, queue->held.head);
    else
        queue->visits_again = queue->to_visit != queue->held.head;
}

void
wanted_add_holder(LockRequest *request)
{
    LockQueue *queue = request->queue;

    if (queue->to_visit == NULL)
        visit_from(queue, &request->in_queue);
}

void
wanted_remove_holder(LockRequest *request, GList *next)
{
    LockQueue *queue = request->queue;

    if (queue->to_visit == &request->in_queue)
        visit_from(queue, next);
    if (request->in_untold != NULL)
        g_queue_delete_link(&request->agent->untold, g_steal_pointer(&request->in_untold));
}

static gboolean
is_untold(const LockRequest *request)
{
    return request->is_told_wanted != request->queue->is_wanted;
}

gboolean
wanted_visit(UserAgent *user_agent, Agent **out_agent)
{
    LockQueue *queue = g_queue_pop_head(&user_agent->wanted); /* next time it is another one */
    LockRequest *request;

    if (queue == NULL)
        return FALSE;
    queue->in_wanted = NULL;
    request = queue->to_visit->data;
    visit_from(queue, request->in_queue.next);

    *out_agent = NULL;
    if (is_untold(request) && request->in_untold == NULL) {
        request->in_untold = append(&request->agent->untold, request);
        *out_agent = request->agent;
    }
    return TRUE;
}

/* ---- the locks of an agent */

LockRequest *
wanted_take(Agent *agent)
{
    LockRequest *request;

    while ((request = g_queue_pop_head(&agent->untold)) != NULL) {
        request->in_untold = NULL;
        if (is_untold(request)) {
            request->is_told_wanted = request->queue->is_wanted;
            return request;
        }
    }
    return NULL;
}

gboolean
wanted_report(LockRequest *request)
{
    if (request->state == LOCK_REQUEST_HELD)
        request->is_told_wanted = request->queue->is_wanted;
    return request->is_told_wanted;
}
