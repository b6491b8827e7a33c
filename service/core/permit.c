/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "permit.h"

#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "user-agent.h"

#define NO_BOUNDARY G_MAXUINT64

Permit *
permit_new(void)
{
    Permit *permit = g_new0(Permit, 1);

    permit->boundary = NO_BOUNDARY;
    g_queue_init(&permit->steals);
    return permit;
}

void
permit_free(Permit *permit)
{
    g_assert(permit->steals.length == 0);
    g_free(permit);
}

/* ---- what may be granted */

static PermitMode
needed_for(LockMode mode)
{
    return mode == LOCK_MODE_SHARED ? PERMIT_SHARED : PERMIT_EXCLUSIVE;
}

static gboolean
has_tokens(const Permit *permit)
{
    return permit->last_token < permit->token_limit;
}

/* Whether such a request may be granted in this turn, if there are tokens. */
static gboolean
covers(const Permit *permit, LockMode mode, guint64 sequence)
{
    return permit->mode >= needed_for(mode) && sequence <= permit->boundary;
}

gboolean
permit_admits(const LockQueue *queue, LockMode mode, guint64 sequence)
{
    return covers(queue->permit, mode, sequence) && has_tokens(queue->permit) &&
           lock_queue_admits(queue, mode, 1);
}

static gboolean
may_steal(const LockQueue *queue)
{
    return queue->permit->mode == PERMIT_EXCLUSIVE && queue->permit->boundary == NO_BOUNDARY &&
           has_tokens(queue->permit);
}

gboolean
permit_is_wanted(const Permit *permit)
{
    return permit->boundary != NO_BOUNDARY || permit->steals.length > 0;
}

Undecided
permit_get_undecided(const LockQueue *queue, const LockOptions *options)
{
    const Permit *permit = queue->permit;

    if (options->steal)
        return may_steal(queue) ? UNDECIDED_NONE : UNDECIDED_STEAL;
    if (options->if_available && queue->held.length == 0 && queue->pending.length == 0 &&
        permit->steals.length == 0 &&
        (permit->mode < needed_for(options->mode) || !has_tokens(permit)))
        return UNDECIDED_IF_AVAILABLE;
    return UNDECIDED_NONE;
}

guint32
permit_enqueue(LockRequest *request, guint32 timeout_ms)
{
    LockQueue *queue = request->queue;

    if (request->undecided == UNDECIDED_IF_AVAILABLE) {
        g_queue_push_tail_link(&queue->pending, &request->in_queue);
        return PERMIT_IF_AVAILABLE_MS;
    }
    g_queue_push_tail_link(&queue->permit->steals, &request->in_queue);
    return timeout_ms != 0 ? MIN(timeout_ms, PERMIT_STEAL_MS) : PERMIT_STEAL_MS;
}

void
permit_list_demand(LockQueue *queue)
{
    if (queue->permit->is_listed)
        return;
    queue->permit->is_listed = TRUE;
    g_ptr_array_add(queue->manager->principal->user_agent->demands, lock_queue_ref(queue));
}

/* ---- operations */

/* Lets the first undecided steal take the name, if the permit decides it. Then it is the head of
 * `pending`, and grantable. */
static gboolean
take_steal(LockQueue *queue)
{
    LockRequest *request = g_queue_peek_head(&queue->permit->steals);

    if (request == NULL || !may_steal(queue))
        return FALSE;
    lock_queue_end_held(queue, EFFECT_STOLEN);
    g_queue_unlink(&queue->permit->steals, &request->in_queue);
    g_queue_push_head_link(&queue->pending, &request->in_queue);
    request->undecided = UNDECIDED_NONE;
    return TRUE;
}

/* For operations by which more may be granted. */
static void
process(LockQueue *queue)
{
    permit_list_demand(queue);
    while (take_steal(queue))
        lock_queue_process(queue);
    lock_queue_process(queue);
}

void
permit_set(LockQueue *queue, PermitMode mode, guint64 first, guint64 last)
{
    const LockRequest *holder = g_queue_peek_head(&queue->held);
    Permit *permit = queue->permit;

    g_assert(mode != PERMIT_NONE);
    g_assert(first > 0 && first <= last);

    if (holder != NULL && mode < needed_for(holder->mode))
        lock_queue_end_held(queue, EFFECT_LOST);
    permit->mode = mode;
    permit->boundary = NO_BOUNDARY;
    permit->last_token = MAX(permit->last_token, first - 1);
    permit->token_limit = last;
    process(queue);
}

void
permit_yield(LockQueue *queue, gboolean now)
{
    Permit *permit = queue->permit;
    const LockRequest *last = g_queue_peek_tail(&queue->pending);

    if (permit->mode == PERMIT_NONE)
        return;
    permit->boundary = MIN(permit->boundary, last != NULL && !now ? last->sequence : 0);
    permit_list_demand(queue);
    lock_queue_update_wanted(queue);
}

void
permit_suspend(LockQueue *queue)
{
    queue->permit->mode = PERMIT_NONE;
    queue->permit->boundary = NO_BOUNDARY;
    queue->permit->token_limit = 0;
    permit_list_demand(queue);
    lock_queue_update_wanted(queue);
}

void
permit_return(LockQueue *queue)
{
    g_assert(permit_get_demand(queue).turn_over);

    permit_suspend(queue);
}

void
permit_revoke(LockQueue *queue, EffectKind effect_kind)
{
    g_assert(effect_kind == EFFECT_STOLEN || effect_kind == EFFECT_LOST);

    permit_suspend(queue);
    lock_queue_end_held(queue, effect_kind);
}

void
permit_decline(LockQueue *queue)
{
    LockRequest *request = g_queue_peek_head(&queue->pending);

    if (request == NULL || request->undecided != UNDECIDED_IF_AVAILABLE)
        return;
    lock_manager_end_and_process(queue->manager, request, EFFECT_UNAVAILABLE);
}

guint64
permit_next_token(LockQueue *queue)
{
    g_assert(has_tokens(queue->permit));

    return ++queue->permit->last_token;
}

void
permit_retire_token(LockQueue *queue, guint64 token)
{
    queue->permit->last_token = MAX(queue->permit->last_token, token);
}

/* ---- demand */

static gboolean
needs_tokens(const LockQueue *queue)
{
    const LockRequest *first = g_queue_peek_head((GQueue *)&queue->pending);
    const Permit *permit = queue->permit;

    return first != NULL && permit->boundary == NO_BOUNDARY && !has_tokens(permit) &&
           covers(permit, first->mode, first->sequence);
}

static gboolean
is_turn_over(const LockQueue *queue)
{
    const LockRequest *first = g_queue_peek_head((GQueue *)&queue->pending);
    const Permit *permit = queue->permit;

    return permit->mode != PERMIT_NONE && queue->held.length == 0 && !needs_tokens(queue) &&
           (first == NULL || !has_tokens(permit) || !covers(permit, first->mode, first->sequence));
}

Demand
permit_get_demand(const LockQueue *queue)
{
    const LockRequest *first = g_queue_peek_head((GQueue *)&queue->pending);
    const LockRequest *holder = g_queue_peek_head((GQueue *)&queue->held);
    const Permit *permit = queue->permit;

    if (permit->steals.length > 0)
        first = permit->steals.head->data;
    return (Demand){
        .permit = permit->mode,
        .want = first != NULL ? needed_for(first->mode) : PERMIT_NONE,
        .held = holder != NULL ? needed_for(holder->mode) : PERMIT_NONE,
        .undecided = first != NULL ? first->undecided : UNDECIDED_NONE,
        .needs_tokens = needs_tokens(queue),
        .turn_over = is_turn_over(queue),
        .n_waiting = queue->pending.length + permit->steals.length,
    };
}

LockQueue *
permit_take_changed(UserAgent *user_agent)
{
    GPtrArray *demands = user_agent->demands;
    LockQueue *queue;

    if (demands->len == 0)
        return NULL;
    queue = g_ptr_array_steal_index_fast(demands, demands->len - 1);
    queue->permit->is_listed = FALSE;
    return queue;
}
