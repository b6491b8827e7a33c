/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "claim.h"

#include <string.h>

/* A turn that another host waits for is not ended before: handing over takes a few commits, and a
 * turn in which one process got one lock would spend most of its time on them. */
#define MIN_TURN_US (1 * G_TIME_SPAN_MILLISECOND)

typedef enum {
    TURN_NONE,    /* no permit */
    TURN_OPEN,    /* a permit */
    TURN_ENDING,  /* the lock service was asked to yield */
    TURN_CLOSING, /* it was asked to grant nothing more */
} Turn;

struct Claim {
    gint64 turn_us;
    guint32 *last_turn; /* of all claims of the session */
    GQueue actions;     /* of ClaimAction, owned */

    ClaimDemand demand;
    gboolean is_demand_known;

    guint64 session; /* 0: none */
    gboolean is_connected;

    /* The operation in progress. */
    gboolean is_busy;
    ClaimOperation operation;
    ClaimName deleted; /* by DELETE */

    /* The own node. `next` is the one that the operation in progress, or with an unknown outcome,
     * creates, if there is one. */
    gboolean has_own, has_next;
    ClaimName own;
    ClaimName next;
    gboolean is_granted;   /* `own` has given a permit */
    gboolean is_refilling; /* GRANT is in progress for the tokens of the turn */
    gboolean is_spent;     /* and it was returned */
    gboolean is_unsettled; /* see claim_is_settled() */
    gboolean needs_proof;  /* it is not known whether `own` protects what is held since before */
    gboolean is_uncertain; /* the outcome of the last operation is unknown */

    /* The permit. */
    Turn turn;
    guint64 block;
    gint64 turn_ends_us; /* in TURN_OPEN at the earliest, in TURN_ENDING at the latest */

    /* What the last LIST has found. */
    gboolean is_list_valid;
    PermitMode watched; /* the permit for which claim_changed() will be called when it is not valid
                           any more; PERMIT_NONE: it will not */
    gboolean needs_sync;
    gboolean is_missing; /* the node of the name doesn't exist */
    gint32 version;      /* the number of steals */
    GArray *others;      /* of ClaimName */

    gboolean is_watching;
    gboolean has_notified; /* the holders of shared permits that `own` waits for */
    gboolean has_sent_busy;
    gboolean has_sent_gone;
};

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
claim_action_clear(ClaimAction *action)
{
    g_clear_pointer(&action->ended, g_array_unref);
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

static ClaimAction *
append_message(Claim *claim, ClaimMessage message)
{
    ClaimAction *action = append_action(claim);

    action->message = message;
    return action;
}

static ClaimAction *
begin_operation(Claim *claim, ClaimOperation operation)
{
    ClaimAction *action = append_action(claim);

    g_assert(!claim->is_busy);
    claim->is_busy = TRUE;
    claim->operation = operation;
    action->operation = operation;
    return action;
}

static gboolean
has_demand(const Claim *claim)
{
    return claim->demand.want != PERMIT_NONE || claim->demand.held != PERMIT_NONE;
}

/* ---- the contents of the last list */

static const ClaimName *
get_other(const Claim *claim, guint i)
{
    return &g_array_index(claim->others, ClaimName, i);
}

/* Returns a node of this session that is not `own`, or NULL. There is one if an operation whose
 * outcome was unknown has created it after all, or an earlier process of this host. */
static const ClaimName *
find_leftover(const Claim *claim)
{
    for (guint i = 0; i < claim->others->len; i++)
        if (get_other(claim, i)->session == claim->session)
            return get_other(claim, i);
    return NULL;
}

/* Returns the last of the claims that `own` has to wait for, or NULL. */
static const ClaimName *
find_nearest_blocker(const Claim *claim)
{
    const ClaimName *nearest = NULL;

    for (guint i = 0; i < claim->others->len; i++) {
        const ClaimName *other = get_other(claim, i);

        if (claim_name_blocks(other, &claim->own) &&
            (nearest == NULL || claim_name_compare(other, nearest) > 0))
            nearest = other;
    }
    return nearest;
}

/* Whether a claim of another host waits for the end of `own`. */
static gboolean
is_awaited(const Claim *claim)
{
    for (guint i = 0; i < claim->others->len; i++)
        if (claim_name_blocks(&claim->own, get_other(claim, i)))
            return TRUE;
    return FALSE;
}

/* Whether `own` was made by a steal, and it is not known what else has a permit. */
static gboolean
is_stealing(const Claim *claim)
{
    return claim->has_own && claim->own.is_steal && !claim->is_granted;
}

/* Returns the claims of others that have or can get a permit, owned; while stealing, those that may
 * have got one before the steal. */
static GArray *
get_claims_to_end(const Claim *claim)
{
    GArray *claims = g_array_new(FALSE, FALSE, sizeof(ClaimName));
    ClaimOrder order;

    claim_order_init(&order);
    if (claim->has_own && !is_stealing(claim))
        claim_order_add(&order, &claim->own);
    for (guint i = 0; i < claim->others->len; i++)
        claim_order_add(&order, get_other(claim, i));
    for (guint i = 0; i < claim->others->len; i++) {
        const ClaimName *other = get_other(claim, i);

        if (claim_order_is_first(&order, other) &&
            (!is_stealing(claim) || other->mode == PERMIT_SHARED))
            g_array_append_val(claims, *other);
    }
    return claims;
}

/* ---- operations */

static ClaimName
new_name(Claim *claim)
{
    PermitMode mode = claim->demand.want != PERMIT_NONE ? claim->demand.want : claim->demand.held;
    ClaimName name = {mode, claim->session, ++*claim->last_turn, 0, FALSE};

    claim->has_next = TRUE;
    claim->next = name;
    return name;
}

static void
create(Claim *claim)
{
    begin_operation(claim, CLAIM_CREATE)->name = new_name(claim);
}

/* Whether the lock service has a permit of this session that is not confirmed. */
static gboolean
has_earlier_permit(const Claim *claim)
{
    return claim->is_unsettled && claim->turn == TURN_NONE && claim->demand.session != 0 &&
           claim->demand.session == claim->session;
}

static void
list(Claim *claim)
{
    ClaimAction *action = begin_operation(claim, CLAIM_LIST);

    action->sync = claim->is_uncertain || claim->needs_sync;
    if (claim->turn != TURN_NONE || has_earlier_permit(claim))
        action->watch = claim->has_own ? claim->own.mode : claim->demand.held;
    /* A watch that fires from now on is about changes after this list. */
    claim->is_list_valid = TRUE;
    claim->watched = action->watch;
}

static void
delete_node(Claim *claim, const ClaimName *name)
{
    claim->deleted = *name;
    begin_operation(claim, CLAIM_DELETE)->name = *name;
}

static void
swap(Claim *claim)
{
    ClaimAction *action = begin_operation(claim, CLAIM_SWAP);

    action->old = claim->own;
    action->name = new_name(claim);
}

static void
grant(Claim *claim)
{
    ClaimAction *action = begin_operation(claim, CLAIM_GRANT);

    action->name = claim->own;
    action->version = claim->version;
    claim->is_refilling = claim->is_granted && claim->turn == TURN_OPEN;
}

static void
prove(Claim *claim)
{
    ClaimAction *action = begin_operation(claim, CLAIM_PROVE);

    action->name = claim->own;
    action->block = claim->demand.block;
}

/* Ends the claims that have or can get a permit, and the own claim wherever it is. There is at
 * least one: so the node of the name is still the same as in the last list. */
static void
steal(Claim *claim)
{
    ClaimAction *action = begin_operation(claim, CLAIM_STEAL);
    const ClaimName *first = claim->has_own ? &claim->own : get_other(claim, 0);
    ClaimName next = {.mode = PERMIT_EXCLUSIVE, .session = claim->session, .is_steal = TRUE};

    action->ended = get_claims_to_end(claim);
    /* Of those that may have got a permit meanwhile, the next steal ends the rest. */
    g_array_set_size(action->ended, MIN(action->ended->len, CLAIM_STEAL_MAX));
    for (guint i = 0; i < claim->others->len; i++)
        if (claim_name_compare(get_other(claim, i), first) < 0)
            first = get_other(claim, i);
    if (claim->has_own)
        g_array_append_val(action->ended, claim->own);
    next.turn = ++*claim->last_turn;
    next.sequence = (gint32)((guint32)first->sequence - 1);
    claim->has_next = TRUE;
    claim->next = next;
    action->name = claim->next;
    action->version = claim->version;
}

static void
watch(Claim *claim, const ClaimName *name)
{
    claim->is_watching = TRUE;
    begin_operation(claim, CLAIM_WATCH)->name = *name;
}

/* ---- messages for the lock service */

static void
ask_to_yield(Claim *claim, gboolean now)
{
    claim->turn = now ? TURN_CLOSING : TURN_ENDING;
    append_message(claim, CLAIM_YIELD)->now = now;
}

static void
end_permit(Claim *claim, gboolean is_lost)
{
    if (claim->turn == TURN_NONE)
        return;
    claim->turn = TURN_NONE;
    append_message(claim, CLAIM_REVOKED)->is_lost = is_lost;
}

/* What the lock service has held since before this connection is not protected. */
static void
lose_earlier(Claim *claim)
{
    if (!claim->is_unsettled)
        return;
    claim->is_unsettled = FALSE;
    if (claim->demand.held == PERMIT_NONE)
        return;
    claim->demand.held = PERMIT_NONE;
    append_message(claim, CLAIM_REVOKED)->is_lost = TRUE;
}

static void
send_permit(Claim *claim, guint64 block)
{
    ClaimAction *action = append_message(claim, CLAIM_PERMIT);

    action->name = claim->own;
    action->mode = claim->own.mode;
    action->block = block;
    claim->block = block;
    claim->demand.needs_tokens = FALSE;
}

static void
give_permit(Claim *claim, guint64 block, gint64 now_us)
{
    /* There is no demand any more, or the lock service that had it has disconnected. While the lock
     * service has the permit of a node that this one replaces, its locks need this one, even if it
     * has not reported any. */
    if (claim->turn == TURN_NONE && (!claim->is_demand_known || !has_demand(claim)))
        return;
    send_permit(claim, block);
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

/* ---- what to do next */

/* Whether another host waits for the end of the turn, and the lock service doesn't know it. */
static gboolean
has_to_end(const Claim *claim)
{
    return claim->turn == TURN_OPEN && claim->is_list_valid && is_awaited(claim);
}

/* Ends the turn if another host waits: first for later requests, then for all. */
static void
step_turn(Claim *claim, gint64 now_us)
{
    if (has_to_end(claim) && now_us >= claim->turn_ends_us) {
        ask_to_yield(claim, FALSE);
        claim->turn_ends_us = now_us + claim->turn_us;
    }
    if (claim->turn == TURN_ENDING && now_us >= claim->turn_ends_us)
        ask_to_yield(claim, TRUE);
}

static void
step_without_node(Claim *claim)
{
    if (claim->is_unsettled && !claim->is_list_valid) {
        list(claim);
        return;
    }
    if (claim->demand.want == PERMIT_NONE) {
        if (!claim->has_sent_gone && claim->demand.held == PERMIT_NONE)
            append_message(claim, CLAIM_GONE);
        claim->has_sent_gone = TRUE;
        return;
    }
    if (claim->is_missing)
        begin_operation(claim, CLAIM_ENSURE);
    else if (claim->demand.has_steal && !claim->is_list_valid)
        list(claim);
    else if (claim->demand.has_steal && claim->others->len > 0)
        steal(claim);
    else
        create(claim);
}

/* Whether a steal is not over. */
static gboolean
has_claims_to_end(const Claim *claim)
{
    g_autoptr(GArray) claims = is_stealing(claim) ? get_claims_to_end(claim) : NULL;

    return claims != NULL && claims->len > 0;
}

static void
step_waiting(Claim *claim)
{
    const ClaimName *blocker = find_nearest_blocker(claim);
    gboolean is_usable = !claim->is_spent && claim->own.mode >= claim->demand.want;

    if (blocker == NULL && (is_usable || claim->demand.held != PERMIT_NONE)) {
        if (has_claims_to_end(claim))
            steal(claim);
        else
            grant(claim);
        return;
    }
    if (claim->demand.has_steal) {
        steal(claim);
        return;
    }
    lose_earlier(claim);
    if (claim->demand.has_if_available && !claim->has_sent_busy) {
        append_message(claim, CLAIM_BUSY);
        claim->has_sent_busy = TRUE;
    }
    /* A node that is not blocked and can't be used has been swapped. */
    g_assert(blocker != NULL);
    if (blocker->mode == PERMIT_SHARED && !claim->has_notified)
        begin_operation(claim, CLAIM_NOTIFY);
    else if (!claim->is_watching)
        watch(claim, blocker);
}

static void
step_with_node(Claim *claim)
{
    const ClaimDemand *demand = &claim->demand;
    gboolean is_too_weak = demand->want == PERMIT_EXCLUSIVE && demand->held == PERMIT_NONE &&
                           claim->own.mode == PERMIT_SHARED;

    if (claim->turn == TURN_NONE && !has_demand(claim))
        delete_node(claim, &claim->own);
    else if (claim->turn == TURN_NONE && (claim->is_spent || is_too_weak) && !demand->has_steal)
        swap(claim);
    else if (!claim->is_list_valid)
        list(claim);
    else if (claim->needs_proof && demand->held != PERMIT_NONE)
        prove(claim);
    else if (claim->turn == TURN_NONE || is_stealing(claim))
        step_waiting(claim);
    else if (demand->has_steal)
        steal(claim);
    else if (demand->needs_tokens && claim->turn == TURN_OPEN)
        grant(claim);
}

/* Whether a steal is wanted that has to end too many claims. */
static gboolean
steals_from_too_many(const Claim *claim)
{
    g_autoptr(GArray) claims = NULL;

    if (!claim->demand.has_steal || !claim->is_list_valid || claim->is_uncertain ||
        claim->others->len <= CLAIM_STEAL_MAX)
        return FALSE;
    claims = get_claims_to_end(claim);
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
    leftover = find_leftover(claim);
    if (claim->is_uncertain)
        list(claim);
    else if (leftover != NULL)
        delete_node(claim, leftover);
    else if (claim->has_own)
        step_with_node(claim);
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
}

/* The node doesn't exist any more, though the session does: another host has deleted it. */
static void
lose_own(Claim *claim)
{
    claim->has_own = FALSE;
    claim->is_spent = FALSE;
    claim->is_list_valid = FALSE;
    lose_earlier(claim);
    end_permit(claim, FALSE);
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
        ClaimName other = *get_other(claim, i);

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
        ClaimName other = *get_other(claim, i);

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
take_list(Claim *claim, const ClaimResult *result, gint64 now_us)
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
        lose_earlier(claim);
    else if (has_earlier_permit(claim) && claim->own.turn == claim->demand.turn && !claim->is_spent)
        give_permit(claim, claim->demand.block, now_us);
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
        lose_earlier(claim);
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
        if (claim_name_equal(get_other(claim, i), &claim->deleted)) {
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
            send_permit(claim, result->block);
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
        take_list(claim, result, now_us);
    else if (result->outcome == CLAIM_OK ||
             (claim->operation == CLAIM_DELETE && result->outcome == CLAIM_NO_NODE))
        take_success(claim, result, now_us);
    else
        take_refusal(claim, result->outcome);
    step(claim, now_us);
}

/* ---- other inputs */

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
    if (!claim->is_demand_known && (demand->held != PERMIT_NONE || demand->session != 0))
        claim->is_unsettled = TRUE;
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
    claim->is_list_valid = FALSE;
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
    end_permit(claim, TRUE);
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
claim_adopt(Claim *claim, const ClaimName *name, gint64 now_us)
{
    if ((claim->has_own && claim->own.turn == name->turn) ||
        (claim->has_next && claim->next.turn == name->turn))
        return;
    g_array_append_val(claim->others, *name);
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
claim_is_busy(const Claim *claim)
{
    return claim->is_busy;
}

gboolean
claim_has_node(const Claim *claim)
{
    return claim->has_own || claim->has_next || claim->is_uncertain;
}

gboolean
claim_is_settled(const Claim *claim)
{
    return !claim->is_unsettled;
}
