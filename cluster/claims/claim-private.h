/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the files of a claim share: its state (claim.c decides what is next), what the last list has
 * found (claim-list.c), and what is appended to the queue (claim-actions.c). */

#pragma once

#include "claim.h"

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
    /* If a steal has made `own`: claims whose numbers are less than so many after that of `own` may
     * have been made before. */
    guint32 n_before_steal;

    /* The permit. */
    Turn turn;
    guint64 first_block, block; /* of those that `own` has got */
    gint64 turn_ends_us;        /* in TURN_OPEN at the earliest, in TURN_ENDING at the latest */

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

/* ---- the contents of the last list */

const ClaimName *claim_get_other(const Claim *claim, guint i);
/* Returns a node of this session that is not `own`, or NULL. There is one if an operation whose
 * outcome was unknown has created it after all, or an earlier process of this host. */
const ClaimName *claim_find_leftover(const Claim *claim);
/* Returns the last of the claims that `own` has to wait for, or NULL. */
const ClaimName *claim_find_blocker(const Claim *claim);
/* Whether a claim of another host waits for the end of `own`. */
gboolean claim_is_awaited(const Claim *claim);
/* Whether `own` was made by a steal, and it is not known what else has a permit. */
gboolean claim_is_stealing(const Claim *claim);
/* Returns the claims of others that have or can get a permit, owned; while stealing, those that may
 * have got one before the steal. */
GArray *claim_get_claims_to_end(const Claim *claim);
/* Whether the lock service has a permit of this session that is not confirmed. */
gboolean claim_has_earlier_permit(const Claim *claim);

/* ---- operations and messages */

ClaimAction *claim_send(Claim *claim, ClaimMessage message);
ClaimAction *claim_begin(Claim *claim, ClaimOperation operation);
void claim_create(Claim *claim);
void claim_list(Claim *claim);
void claim_delete(Claim *claim, const ClaimName *name);
void claim_swap(Claim *claim);
void claim_grant(Claim *claim);
void claim_prove(Claim *claim);
/* Ends the claims that have or can get a permit, and the own claim wherever it is. There is at
 * least one: so the node of the name is still the same as in the last list. */
void claim_steal(Claim *claim);
void claim_watch(Claim *claim, const ClaimName *name);
void claim_ask_to_yield(Claim *claim, gboolean now);
void claim_end_permit(Claim *claim, gboolean is_lost);
/* What the lock service has held since before this connection is not protected. */
void claim_lose_earlier(Claim *claim);
void claim_send_permit(Claim *claim, guint64 block);
