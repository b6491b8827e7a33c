/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the last list of the claims of a name has found. */

#include "claim-private.h"

const ClaimName *
claim_get_other(const Claim *claim, guint i)
{
    return &g_array_index(claim->others, ClaimName, i);
}

const ClaimName *
claim_find_leftover(const Claim *claim)
{
    for (guint i = 0; i < claim->others->len; i++)
        if (claim_get_other(claim, i)->session == claim->session)
            return claim_get_other(claim, i);
    return NULL;
}

const ClaimName *
claim_find_blocker(const Claim *claim)
{
    const ClaimName *nearest = NULL;

    for (guint i = 0; i < claim->others->len; i++) {
        const ClaimName *other = claim_get_other(claim, i);

        if (claim_name_blocks(other, &claim->own) &&
            (nearest == NULL || claim_name_compare(other, nearest) > 0))
            nearest = other;
    }
    return nearest;
}

gboolean
claim_is_awaited(const Claim *claim)
{
    for (guint i = 0; i < claim->others->len; i++)
        if (claim_name_blocks(&claim->own, claim_get_other(claim, i)))
            return TRUE;
    return FALSE;
}

gboolean
claim_is_stealing(const Claim *claim)
{
    return claim->has_own && claim->own.is_steal && !claim->is_granted;
}

/* Whether it may have got a permit before the steal that has made `own`. */
static gboolean
may_precede_steal(const Claim *claim, const ClaimName *other)
{
    return other->mode == PERMIT_SHARED &&
           (guint32)other->sequence - (guint32)claim->own.sequence < claim->n_before_steal;
}

GArray *
claim_get_claims_to_end(const Claim *claim)
{
    GArray *claims = g_array_new(FALSE, FALSE, sizeof(ClaimName));
    ClaimOrder order;

    claim_order_init(&order);
    if (claim->has_own && !claim_is_stealing(claim))
        claim_order_add(&order, &claim->own);
    for (guint i = 0; i < claim->others->len; i++)
        claim_order_add(&order, claim_get_other(claim, i));
    for (guint i = 0; i < claim->others->len; i++) {
        const ClaimName *other = claim_get_other(claim, i);

        if (claim_order_is_first(&order, other) &&
            (!claim_is_stealing(claim) || may_precede_steal(claim, other)))
            g_array_append_val(claims, *other);
    }
    return claims;
}

gboolean
claim_has_earlier_permit(const Claim *claim)
{
    return claim->is_unsettled && claim->turn == TURN_NONE && claim->demand.session != 0 &&
           claim->demand.session == claim->session;
}
