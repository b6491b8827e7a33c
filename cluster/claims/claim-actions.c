/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The queue of a claim: operations of the engine, and messages for the lock service. */

#include "claim-private.h"

void
claim_action_clear(ClaimAction *action)
{
    g_clear_pointer(&action->ended, g_array_unref);
}

gboolean
claim_take_action(Claim *claim, ClaimAction *out_action)
{
    g_autofree ClaimAction *action = g_queue_pop_head(&claim->actions);

    if (action == NULL)
        return FALSE;
    *out_action = *action;
    return TRUE;
}

static ClaimAction *
append_action(Claim *claim)
{
    ClaimAction *action = g_new0(ClaimAction, 1);

    g_queue_push_tail(&claim->actions, action);
    return action;
}

ClaimAction *
claim_send(Claim *claim, ClaimMessage message)
{
    ClaimAction *action = append_action(claim);

    action->message = message;
    return action;
}

ClaimAction *
claim_begin(Claim *claim, ClaimOperation operation)
{
    ClaimAction *action = append_action(claim);

    g_assert(!claim->is_busy);
    claim->is_busy = TRUE;
    claim->operation = operation;
    action->operation = operation;
    return action;
}

static ClaimName
new_name(Claim *claim)
{
    PermitMode mode = claim->demand.want != PERMIT_NONE ? claim->demand.want : claim->demand.held;
    ClaimName name = {mode, claim->session, ++*claim->last_turn, 0, FALSE};

    claim->has_next = TRUE;
    claim->next = name;
    return name;
}

void
claim_create(Claim *claim)
{
    claim_begin(claim, CLAIM_CREATE)->name = new_name(claim);
}

void
claim_list(Claim *claim)
{
    ClaimAction *action = claim_begin(claim, CLAIM_LIST);

    action->sync = claim->is_uncertain || claim->needs_sync;
    if (claim->turn != TURN_NONE || claim_has_earlier_permit(claim))
        action->watch = claim->has_own ? claim->own.mode : claim->demand.held;
    /* A watch that fires from now on is about changes after this list. */
    claim->is_list_valid = TRUE;
    claim->watched = action->watch;
}

void
claim_delete(Claim *claim, const ClaimName *name)
{
    claim->deleted = *name;
    claim_begin(claim, CLAIM_DELETE)->name = *name;
}

void
claim_swap(Claim *claim)
{
    ClaimAction *action = claim_begin(claim, CLAIM_SWAP);

    action->old = claim->own;
    action->name = new_name(claim);
}

void
claim_grant(Claim *claim)
{
    ClaimAction *action = claim_begin(claim, CLAIM_GRANT);

    action->name = claim->own;
    action->version = claim->version;
    claim->is_refilling = claim->is_granted && claim->turn == TURN_OPEN;
}

void
claim_prove(Claim *claim)
{
    ClaimAction *action = claim_begin(claim, CLAIM_PROVE);

    action->name = claim->own;
    action->block = claim->demand.block;
}

void
claim_steal(Claim *claim)
{
    ClaimAction *action = claim_begin(claim, CLAIM_STEAL);
    const ClaimName *first = claim->has_own ? &claim->own : claim_get_other(claim, 0);
    ClaimName next = {.mode = PERMIT_EXCLUSIVE, .session = claim->session, .is_steal = TRUE};

    action->ended = claim_get_claims_to_end(claim);
    /* Of those that may have got a permit meanwhile, the next steal ends the rest. */
    g_array_set_size(action->ended, MIN(action->ended->len, CLAIM_STEAL_MAX));
    for (guint i = 0; i < claim->others->len; i++)
        if (claim_name_compare(claim_get_other(claim, i), first) < 0)
            first = claim_get_other(claim, i);
    if (claim->has_own)
        g_array_append_val(action->ended, claim->own);
    next.turn = ++*claim->last_turn;
    next.sequence = (gint32)((guint32)first->sequence - 1);
    claim->has_next = TRUE;
    claim->next = next;
    action->name = claim->next;
    action->version = claim->version;
}

void
claim_watch(Claim *claim, const ClaimName *name)
{
    claim->is_watching = TRUE;
    claim_begin(claim, CLAIM_WATCH)->name = *name;
}

void
claim_ask_to_yield(Claim *claim, gboolean now)
{
    claim->turn = now ? TURN_CLOSING : TURN_ENDING;
    claim_send(claim, CLAIM_YIELD)->now = now;
}

void
claim_end_permit(Claim *claim, gboolean is_lost)
{
    if (claim->turn == TURN_NONE)
        return;
    claim->turn = TURN_NONE;
    claim_send(claim, CLAIM_REVOKED)->is_lost = is_lost;
}

void
claim_lose_earlier(Claim *claim)
{
    if (!claim->is_unsettled)
        return;
    claim->is_unsettled = FALSE;
    if (claim->demand.held == PERMIT_NONE)
        return;
    claim->demand.held = PERMIT_NONE;
    claim_send(claim, CLAIM_REVOKED)->is_lost = TRUE;
}

void
claim_send_permit(Claim *claim, guint64 block)
{
    ClaimAction *action = claim_send(claim, CLAIM_PERMIT);

    action->name = claim->own;
    action->mode = claim->own.mode;
    action->block = block;
    claim->block = block;
    claim->demand.needs_tokens = FALSE;
}
