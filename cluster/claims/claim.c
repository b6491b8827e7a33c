/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "claim-private.h"

/* A turn that another host waits for is not ended before: handing over takes a few commits, and a
 * turn in which one process got one lock would spend most of its time on them. */
#define MIN_TURN_US (1 * G_TIME_SPAN_MILLISECOND)

Claim *
claim_new(gint64 turn_us, guint32 *last_turn)
{
    Claim *claim = g_new0(Claim, 1);

    claim->turn_us = turn_us;
    claim->last_turn = last_turn;
    claim->others = g_array_new(FALSE, FALSE, sizeof(ClaimName));
    g_queue_init(&claim->actions);
    return claim;
}

void
claim_free(Claim *claim)
{
    g_auto(ClaimAction) action = {0};

    while (claim_take_action(claim, &action))
        claim_action_clear(&action);
    g_array_unref(claim->others);
    g_free(claim);
}

static gboolean
has_demand(const Claim *claim)
{
    return claim->demand.want != PERMIT_NONE || claim->demand.held != PERMIT_NONE;
}

static void
give_permit(Claim *claim, guint64 block, gint64 now_us)
{
    /* There is no demand any more, or the lock service that had it has disconnected. While the lock
     * service has the permit of a node that this one replaces, its locks need this one, even if it
     * has not reported any. */
    if (claim->turn == TURN_NONE && (!claim->is_demand_known || !has_demand(claim)))
        return;
    claim_send_permit(claim, block);
    if (!claim->is_granted)
        claim->first_block = block;
    claim->is_granted = TRUE;
    claim->turn = TURN_OPEN;
    claim->turn_ends_us = now_us + MIN_TURN_US;
    claim->is_unsettled = FALSE;
    /* With this permit the lock service decides the request by itself. */
    if (claim->own.mode == PERMIT_EXCLUSIVE)
        claim->demand.has_steal = FALSE;
    /* The next list sets a watch, to see claims of other hosts. */
    claim->is_list_valid = claim->is_list_valid && claim->watched == claim->own.mode;
}

/* Whether the lock service has an earlier permit of `own`, which is still there. */
static gboolean
can_confirm(const Claim *claim)
{
    return claim->is_list_valid && claim->is_unsettled && claim_has_earlier_permit(claim) &&
           claim->own.turn == claim->demand.turn && !claim->is_spent;
}

/* ---- what to do next */

/* Whether another host waits for the end of the turn, and the lock service doesn't know it. */
static gboolean
has_to_end(const Claim *claim)
{
    return claim->turn == TURN_OPEN && claim->is_list_valid && claim_is_awaited(claim);
}

/* Ends the turn if another host waits: first for later requests, then for all. */
static void
step_turn(Claim *claim, gint64 now_us)
{
    if (has_to_end(claim) && now_us >= claim->turn_ends_us) {
        claim_ask_to_yield(claim, FALSE);
        claim->turn_ends_us = now_us + claim->turn_us;
    }
    if (claim->turn == TURN_ENDING && now_us >= claim->turn_ends_us)
        claim_ask_to_yield(claim, TRUE);
}

static void
step_without_node(Claim *claim)
{
    if (claim->demand.want == PERMIT_NONE) {
        if (!claim->has_sent_gone && claim->demand.held == PERMIT_NONE)
            claim_send(claim, CLAIM_GONE);
        claim->has_sent_gone = TRUE;
        return;
    }
    if (claim->is_missing)
        claim_begin(claim, CLAIM_ENSURE);
    else if (claim->demand.has_steal && !claim->is_list_valid)
        claim_list(claim);
    else if (claim->demand.has_steal && claim->others->len > 0)
        claim_steal(claim);
    else
        claim_create(claim);
}

/* Whether a steal is not over. */
static gboolean
has_claims_to_end(const Claim *claim)
{
    g_autoptr(GArray) claims = claim_is_stealing(claim) ? claim_get_claims_to_end(claim) : NULL;

    return claims != NULL && claims->len > 0;
}

static void
step_waiting(Claim *claim)
{
    const ClaimName *blocker = claim_find_blocker(claim);
    gboolean is_usable = !claim->is_spent && claim->own.mode >= claim->demand.want;

    if (blocker == NULL && (is_usable || claim->demand.held != PERMIT_NONE)) {
        if (has_claims_to_end(claim))
            claim_steal(claim);
        else
            claim_grant(claim);
        return;
    }
    if (claim->demand.has_steal) {
        claim_steal(claim);
        return;
    }
    claim_lose_earlier(claim);
    if (claim->demand.has_if_available && !claim->has_sent_busy) {
        claim_send(claim, CLAIM_BUSY);
        claim->has_sent_busy = TRUE;
    }
    /* A node that is not blocked and can't be used has been swapped. */
    g_assert(blocker != NULL);
    if (blocker->mode == PERMIT_SHARED && !claim->has_notified)
        claim_begin(claim, CLAIM_NOTIFY);
    else if (!claim->is_watching)
        claim_watch(claim, blocker);
}

static void
step_with_node(Claim *claim, gint64 now_us)
{
    const ClaimDemand *demand = &claim->demand;
    gboolean is_too_weak = demand->want == PERMIT_EXCLUSIVE && demand->held == PERMIT_NONE &&
                           claim->own.mode == PERMIT_SHARED;

    if (can_confirm(claim))
        give_permit(claim, demand->block, now_us);

    if (claim->turn == TURN_NONE && !has_demand(claim))
        claim_delete(claim, &claim->own);
    else if (claim->turn == TURN_NONE && (claim->is_spent || is_too_weak) && !demand->has_steal)
        claim_swap(claim);
    else if (!claim->is_list_valid)
        claim_list(claim);
    else if (claim->needs_proof && demand->held != PERMIT_NONE)
        claim_prove(claim);
    else if (claim->turn == TURN_NONE || claim_is_stealing(claim))
        step_waiting(claim);
    else if (demand->has_steal)
        claim_steal(claim);
    else if (demand->needs_tokens && claim->turn == TURN_OPEN)
        claim_grant(claim);
}

/* Whether a steal is wanted that has to end too many claims. */
static gboolean
steals_from_too_many(const Claim *claim)
{
    g_autoptr(GArray) claims = NULL;

    if (!claim->demand.has_steal || !claim->is_list_valid || claim->is_uncertain ||
        claim->others->len <= CLAIM_STEAL_MAX)
        return FALSE;
    claims = claim_get_claims_to_end(claim);
    return claims->len > CLAIM_STEAL_MAX;
}

static void
step(Claim *claim, gint64 now_us)
{
    const ClaimName *leftover;

    step_turn(claim, now_us);
    if (claim->is_busy || !claim->is_connected || claim->session == 0 || !claim->is_demand_known)
        return;

    if (steals_from_too_many(claim))
        claim->demand.has_steal = FALSE;
    leftover = claim_find_leftover(claim);
    /* While it is not known which node a permit from before is by, none is a leftover. */
    if (claim->is_uncertain || (claim->is_unsettled && !claim->has_own && !claim->is_list_valid))
        claim_list(claim);
    else if (leftover != NULL)
        claim_delete(claim, leftover);
    else if (claim->has_own)
        step_with_node(claim, now_us);
    else
        step_without_node(claim);
}

/* ---- results */

static void
set_own(Claim *claim, const ClaimName *name)
{
    claim->has_own = TRUE;
    claim->own = *name;
    claim->is_granted = FALSE;
    claim->is_spent = FALSE;
    claim->is_list_valid = FALSE;
    claim->is_watching = FALSE;
    claim->has_notified = FALSE;
    claim->has_sent_busy = FALSE;
    claim->n_before_steal = G_MAXUINT32;
}

/* The node doesn't exist any more, though the session does: another host has deleted it. */
static void
lose_own(Claim *claim)
{
    claim->has_own = FALSE;
    claim->is_spent = FALSE;
    claim->is_list_valid = FALSE;
    claim_lose_earlier(claim);
    claim_end_permit(claim, FALSE);
}

/* Finds out which of the nodes are this host's. */
static void
take_children(Claim *claim, const GArray *children)
{
    gboolean found_own = FALSE;

    g_array_set_size(claim->others, 0);
    for (guint i = 0; i < children->len; i++) {
        const ClaimName *child = &g_array_index(children, ClaimName, i);

        if (claim->has_own && claim_name_equal(child, &claim->own))
            found_own = TRUE;
        else
            g_array_append_val(claim->others, *child);
    }
    if (claim->has_own && !found_own) {
        gboolean is_list_valid = claim->is_list_valid;

        lose_own(claim);
        claim->is_list_valid = is_list_valid;
    }
}

/* After an unknown outcome: was the new node created? */
static void
find_next(Claim *claim)
{
    for (guint i = 0; i < claim->others->len; i++) {
        ClaimName other = *claim_get_other(claim, i);

        if (!claim->has_next || other.session != claim->session || other.turn != claim->next.turn)
            continue;
        g_array_remove_index(claim->others, i);
        set_own(claim, &other);
        return;
    }
}

/* The lock service has something from before its connection: is there the node of the permit?
 * After a restart, it does not know which one that was; then there is one at most. */
static void
find_earlier(Claim *claim)
{
    const ClaimDemand *demand = &claim->demand;
    gboolean is_list_valid = claim->is_list_valid;

    for (guint i = 0; i < claim->others->len; i++) {
        ClaimName other = *claim_get_other(claim, i);

        if (other.session != claim->session ||
            (demand->session != 0 &&
             (demand->session != other.session || demand->turn != other.turn)))
            continue;
        g_array_remove_index(claim->others, i);
        set_own(claim, &other);
        claim->is_list_valid = is_list_valid;
        return;
    }
}

static void
take_list(Claim *claim, const ClaimResult *result)
{
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(ClaimName));

    claim->is_missing = result->outcome == CLAIM_NO_NODE;
    claim->version = result->version;
    take_children(claim, claim->is_missing ? none : result->children);
    if (claim->is_uncertain)
        find_next(claim);
    if (!claim->has_own && claim->is_unsettled)
        find_earlier(claim);
    claim->needs_proof = claim->is_unsettled && claim->demand.session == 0;
    if (!claim->has_own)
        claim_lose_earlier(claim);
    claim->is_uncertain = FALSE;
    claim->needs_sync = FALSE;
    claim->has_next = FALSE;
    claim->is_watching = FALSE;
}

static void
take_new_node(Claim *claim, gint32 sequence)
{
    ClaimName name = claim->next;

    name.sequence = sequence;
    claim->has_next = FALSE;
    claim->is_unsettled = FALSE;
    set_own(claim, &name);
}

/* Nothing was changed, since the last list is out of date. */
static void
take_refusal(Claim *claim, ClaimOutcome outcome)
{
    claim->has_next = FALSE;
    claim->is_list_valid = FALSE;
    claim->is_watching = FALSE;
    if (claim->operation == CLAIM_CREATE || claim->operation == CLAIM_ENSURE)
        claim->is_missing = TRUE;
    else if (claim->operation == CLAIM_PROVE && outcome == CLAIM_BAD_VERSION)
        claim_lose_earlier(claim);
    else if (outcome == CLAIM_BAD_VERSION || claim->operation == CLAIM_STEAL)
        claim->needs_sync = TRUE;
    else if (claim->operation == CLAIM_GRANT || claim->operation == CLAIM_SWAP ||
             claim->operation == CLAIM_PROVE)
        lose_own(claim);
}

static void
take_deletion(Claim *claim)
{
    claim->is_list_valid = FALSE;
    for (guint i = 0; i < claim->others->len; i++)
        if (claim_name_equal(claim_get_other(claim, i), &claim->deleted)) {
            g_array_remove_index(claim->others, i);
            return;
        }
    claim->has_own = FALSE;
    claim->is_spent = FALSE;
    claim->is_unsettled = FALSE;
}

static void
take_success(Claim *claim, const ClaimResult *result, gint64 now_us)
{
    switch (claim->operation) {
    case CLAIM_ENSURE:
        claim->is_missing = FALSE;
        claim->is_list_valid = FALSE;
        break;
    case CLAIM_CREATE:
    case CLAIM_SWAP:
        take_new_node(claim, result->sequence);
        break;
    case CLAIM_STEAL:
        take_new_node(claim, claim->next.sequence);
        claim->n_before_steal =
            (result->n_created - (guint32)claim->own.sequence) & (guint32)G_MAXINT32;
        break;
    case CLAIM_NOTIFY:
        claim->has_notified = TRUE;
        break;
    case CLAIM_GRANT:
        /* After a steal, the own locks, if any, are ended by the lock service, if it still wants
         * that. */
        if (!claim->is_refilling)
            give_permit(claim, result->block, now_us);
        else if (claim->turn == TURN_OPEN)
            claim_send_permit(claim, result->block);
        break;
    case CLAIM_WATCH:
        break;
    case CLAIM_PROVE:
        claim->needs_proof = FALSE;
        break;
    case CLAIM_DELETE:
        take_deletion(claim);
        break;
    case CLAIM_LIST: /* see take_list() */
    case CLAIM_NO_OPERATION:
    default:
        g_assert_not_reached();
    }
}

void
claim_result(Claim *claim, const ClaimResult *result, gint64 now_us)
{
    g_assert(claim->is_busy);
    claim->is_busy = FALSE;

    if (result->outcome == CLAIM_UNKNOWN)
        claim->is_uncertain = TRUE;
    else if (claim->operation == CLAIM_LIST)
        take_list(claim, result);
    else if (result->outcome == CLAIM_OK ||
             (claim->operation == CLAIM_DELETE && result->outcome == CLAIM_NO_NODE))
        take_success(claim, result, now_us);
    else
        take_refusal(claim, result->outcome);
    step(claim, now_us);
}

/* ---- other inputs */

/* A lock service that was restarted knows of its permit only the block of a token. If `own` has got
 * that block, it is known which permit that was. Returns whether it is. */
static gboolean
name_earlier_permit(Claim *claim)
{
    ClaimDemand *demand = &claim->demand;

    if (!claim->has_own || !claim->is_granted || claim->is_spent || demand->held == PERMIT_NONE ||
        demand->session != 0 || demand->block < claim->first_block || demand->block > claim->block)
        return FALSE;
    demand->session = claim->own.session;
    demand->turn = claim->own.turn;
    demand->block = claim->block;
    return TRUE;
}

/* What the last list has found is still watched, if `own` is that of the permit. */
static void
take_first_demand(Claim *claim)
{
    claim->is_unsettled =
        claim->is_unsettled || claim->demand.held != PERMIT_NONE || claim->demand.session != 0;
    if (!name_earlier_permit(claim))
        claim->is_list_valid = FALSE;
}

void
claim_set_demand(Claim *claim, const ClaimDemand *demand, gint64 now_us)
{
    gboolean is_about_turn = claim->turn != TURN_NONE && demand->block == claim->block;

    claim->demand = *demand;
    if (is_about_turn && demand->is_returned) {
        claim->turn = TURN_NONE;
        claim->is_spent = claim->is_granted;
        claim->is_list_valid = FALSE;
    } else if (!is_about_turn) {
        claim->demand.needs_tokens = FALSE;
        if (claim->turn != TURN_NONE)
            claim->demand.has_steal = FALSE; /* from before the permit, which has decided it */
    }
    if (!claim->is_demand_known)
        take_first_demand(claim);
    claim->is_demand_known = TRUE;
    claim->has_sent_gone = FALSE;
    if (!demand->has_if_available)
        claim->has_sent_busy = FALSE;
    step(claim, now_us);
}

void
claim_service_restarted(Claim *claim)
{
    claim->is_demand_known = FALSE;
    claim->turn = TURN_NONE;
    claim->needs_proof = FALSE;
    claim->is_unsettled = claim_has_node(claim);
}

void
claim_connected(Claim *claim, guint64 session, gint64 now_us)
{
    g_assert(claim->session == 0 || claim->session == session);
    claim->session = session;
    claim->is_connected = TRUE;
    claim->is_list_valid = FALSE;
    claim->is_watching = FALSE;
    step(claim, now_us);
}

void
claim_disconnected(Claim *claim)
{
    claim->is_connected = FALSE;
}

void
claim_session_ended(Claim *claim, gint64 now_us)
{
    claim_end_permit(claim, TRUE);
    claim->session = 0;
    claim->is_connected = FALSE;
    claim->is_busy = FALSE;
    claim->has_own = FALSE;
    claim->has_next = FALSE;
    claim->is_spent = FALSE;
    claim->is_unsettled = FALSE;
    claim->is_uncertain = FALSE;
    claim->is_list_valid = FALSE;
    claim->is_watching = FALSE;
    g_array_set_size(claim->others, 0);
    step(claim, now_us);
}

void
claim_changed(Claim *claim, gint64 now_us)
{
    claim->is_list_valid = FALSE;
    claim->is_watching = FALSE;
    step(claim, now_us);
}

void
claim_tick(Claim *claim, gint64 now_us)
{
    step(claim, now_us);
}

gint64
claim_get_next_tick_us(const Claim *claim)
{
    return claim->turn == TURN_ENDING || has_to_end(claim) ? claim->turn_ends_us : -1;
}

gboolean
claim_has_node(const Claim *claim)
{
    return claim->has_own || claim->has_next || claim->is_uncertain;
}

gboolean
claim_uses_node(const Claim *claim, const ClaimName *name)
{
    return (claim->has_own && claim->own.turn == name->turn) ||
           (claim->has_next && claim->next.turn == name->turn);
}

gboolean
claim_is_settled(const Claim *claim)
{
    return !claim->is_unsettled;
}
