/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "inspect.h"

#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "user-agent.h"

/* Whether two requests can't be held together. */
static gboolean
conflict(const LockRequest *a, const LockRequest *b)
{
    if (a->mode == LOCK_MODE_EXCLUSIVE && b->mode == LOCK_MODE_EXCLUSIVE && a->slots == b->slots)
        return a->slots == 1;
    return a->mode == LOCK_MODE_EXCLUSIVE || b->mode == LOCK_MODE_EXCLUSIVE;
}

static void
add_blocker(InspectEntry *entry, const LockRequest *blocker)
{
    const char *client_id = blocker->agent->client_id;

    for (guint i = 0; i < entry->n_blocked_by; i++)
        if (g_str_equal(entry->blocked_by[i], client_id))
            return;
    entry->blocked_by[entry->n_blocked_by++] = client_id;
}

/* Considers a bounded number of entries from the front of both lists, so that inspecting a long
 * queue doesn't take quadratic time. */
static void
find_blockers(InspectEntry *entry)
{
    const LockRequest *request = entry->request;
    const LockQueue *queue = request->queue;
    const gboolean is_admitted = lock_queue_admits(queue, request->mode, request->slots);
    guint n_looked_at = 0;

    if (request->state != LOCK_REQUEST_PENDING)
        return;

    for (const GList *link = queue->held.head; link != NULL; link = link->next) {
        if (n_looked_at++ == INSPECT_BLOCKERS_MAX)
            return;
        if (!is_admitted)
            add_blocker(entry, link->data);
    }
    if (request->undecided == UNDECIDED_STEAL)
        return; /* it is not in the queue, but before it */
    for (const GList *link = queue->pending.head; link != &request->in_queue; link = link->next) {
        if (n_looked_at++ == INSPECT_BLOCKERS_MAX)
            return;
        if (conflict(request, link->data))
            add_blocker(entry, link->data);
    }
}

/* Counts the pending requests of each queue, which are visited in queue order. */
static guint
get_position(const LockManager *manager, const LockRequest *request)
{
    LockQueue *queue = request->queue;

    if (request->state != LOCK_REQUEST_PENDING)
        return 0;
    if (request->undecided == UNDECIDED_STEAL)
        return 1;
    if (queue->inspection != manager->last_inspection) {
        queue->inspection = manager->last_inspection;
        queue->n_inspected = 0;
    }
    return ++queue->n_inspected;
}

static gboolean
matches(const InspectFilter *filter, const LockRequest *request)
{
    if (request->sequence <= filter->after)
        return FALSE;
    if (filter->by_state && request->state != filter->state)
        return FALSE;
    if (filter->by_id && request->id != filter->id)
        return FALSE;
    if (filter->client_id != NULL && !g_str_equal(request->agent->client_id, filter->client_id))
        return FALSE;
    if (filter->name != NULL && !g_str_equal(request->queue->name, filter->name))
        return FALSE;
    if (filter->prefix != NULL && !g_str_has_prefix(request->queue->name, filter->prefix))
        return FALSE;
    return filter->admits == NULL || filter->admits(request, filter->data);
}

gboolean
lock_manager_inspect(LockManager *manager,
                     const InspectFilter *filter,
                     InspectVisit visit,
                     gpointer data)
{
    guint n_visited = 0;

    manager->last_inspection++;
    for (const GList *link = manager->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;
        guint position = get_position(manager, request);
        InspectEntry entry;

        if (!matches(filter, request))
            continue;
        if (n_visited++ == filter->limit)
            return TRUE;
        entry.request = request;
        entry.position = position;
        entry.n_blocked_by = 0;
        find_blockers(&entry);
        visit(&entry, data);
    }
    return FALSE;
}

static gboolean
has_others(const GQueue *requests, guint32 uid)
{
    for (const GList *link = requests->head; link != NULL; link = link->next)
        if (((const LockRequest *)link->data)->agent->principal->identity.uid != uid)
            return TRUE;
    return FALSE;
}

gboolean
lock_manager_concerns_others(const LockManager *manager, const char *name, guint32 uid)
{
    const char *found = g_hash_table_lookup(manager->queues, name);
    const LockQueue *queue = found != NULL ? lock_queue_from_name(found) : NULL;

    return queue != NULL && (has_others(&queue->held, uid) || has_others(&queue->pending, uid));
}

guint32
lock_manager_break(LockManager *manager, const InspectFilter *filter)
{
    const char *found = g_hash_table_lookup(manager->queues, filter->name);
    guint32 n_ended = 0;
    LockQueue *queue;
    GList *link;

    if (found == NULL)
        return 0;
    queue = lock_queue_ref(lock_queue_from_name(found));
    link = queue->held.head;
    while (link != NULL) {
        LockRequest *request = link->data;

        link = link->next;
        if (matches(filter, request)) {
            lock_manager_end_request(manager, request, EFFECT_STOLEN);
            n_ended++;
        }
    }
    lock_queue_process(queue);
    lock_queue_unref(queue);
    return n_ended;
}
