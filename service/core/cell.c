/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cell.h"

#include "bus-names.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "user-agent.h"

/* The number of tokens of a lock with a cell: at most this, and this part of those that are left
 * before they are too far ahead of the clock. What is not used may be lost, so if locks get cells
 * often, each gets as many as have come meanwhile. */
#define RANGE_TOKENS (1 << 20)
#define RANGE_PART   8

static gboolean
is_watched(const LockManager *manager)
{
    const PrivateSession *session = manager->session;
    const LockManager *shown =
        session != NULL ? lock_manager_find(manager->principal, session->public_name) : NULL;

    if (manager->watches.length > 0 || (shown != NULL && shown->watches.length > 0))
        return TRUE;
    for (const LimitsAccount *account = &manager->principal->account; account != NULL;
         account = account->parent)
        if (account->watches.length > 0)
            return TRUE;
    return FALSE;
}

static guint64
get_last_token(const UserAgent *user_agent, guint64 first)
{
    const guint64 end = (guint64)user_agent->realtime_us + TOKENS_AHEAD;

    return first + MIN(RANGE_TOKENS, (MAX(end, first) - first) / RANGE_PART);
}

void
cell_give(LockRequest *request, Cell *cell)
{
    LockQueue *queue = request->queue;
    LockManager *manager = queue->manager;
    UserAgent *user_agent = manager->principal->user_agent;
    const guint64 last_token = get_last_token(user_agent, request->token);

    if (!user_agent->gives_cells || request->mode != LOCK_MODE_EXCLUSIVE || request->slots != 1 ||
        queue->pending.length > 0 || queue->permit != NULL ||
        manager->principal != request->agent->principal ||
        g_str_equal(manager->bucket, BUS_DOCUMENTS_BUCKET) || is_watched(manager) ||
        manager->last_token != request->token || last_token <= request->token)
        return;
    request->cell = cell;
    cell->request = request;
    cell->is_open = FALSE;
    cell->last_token = manager->last_token = last_token;
    cell->in_user_agent.data = cell;
    g_queue_push_tail_link(&user_agent->cells, &cell->in_user_agent);
}

void
cells_open(UserAgent *user_agent)
{
    for (const GList *link = user_agent->cells.tail; link != NULL; link = link->prev) {
        Cell *cell = link->data;

        if (cell->is_open)
            return;
        lock_cell_open(cell->memory, cell->request->key, cell->request->token, cell->last_token);
        lock_cell_identify(cell->memory, cell->request->agent->mark.number, cell->request->id);
        cell->is_open = TRUE;
    }
}

/* ---- closing */

void
cell_apply(const LockCellClosed *closed, guint64 last_token, gint64 now_us, LockRequest *request)
{
    if (closed->token <= request->token)
        return;
    request->token = MIN(closed->token, last_token);
    request->since_us = closed->since_us > 0
                            ? CLAMP(closed->since_us, MIN(request->since_us, now_us), now_us)
                            : now_us;
}

gboolean
cell_take_away(LockRequest *request)
{
    Cell *cell = request->cell;
    LockManager *manager = request->queue->manager;
    UserAgent *user_agent = manager->principal->user_agent;
    LockCellClosed closed = {.is_held = TRUE};

    /* From this instruction on the client can do nothing, whatever it was about to do. */
    if (cell->is_open)
        lock_cell_close(cell->memory, &closed);
    cell_apply(&closed, cell->last_token, user_agent->now_us, request);
    if (manager->last_token == cell->last_token)
        manager->last_token = request->token;
    g_queue_unlink(&user_agent->cells, &cell->in_user_agent);
    cell->request = NULL;
    request->cell = NULL;
    return closed.is_held;
}

gboolean
cell_close(LockRequest *request)
{
    LockManager *manager = request->queue->manager;

    if (cell_take_away(request)) {
        effects_append(&manager->principal->user_agent->effects, EFFECT_CELL_CLOSED, request);
        return TRUE;
    }
    lock_manager_end_and_process(manager, request, EFFECT_RELEASED);
    return FALSE;
}

void
cells_close_of(Agent *agent)
{
    GList *link = agent->principal->user_agent->cells.length > 0 ? agent->requests.head : NULL;

    while (link != NULL) {
        LockRequest *request = link->data;

        link = link->next;
        if (lock_request_get_cell(request) != NULL)
            cell_close(request);
    }
}

void
cells_close_all(UserAgent *user_agent)
{
    const GList *link;

    while ((link = user_agent->cells.head) != NULL)
        cell_close(((const Cell *)link->data)->request);
}

void
cells_close_seen_by(Principal *observer)
{
    GList *link = observer->user_agent->cells.head;

    while (link != NULL) {
        const Cell *cell = link->data;

        link = link->next;
        if (principal_may_observe(observer, cell->request->agent->principal))
            cell_close(cell->request);
    }
}
