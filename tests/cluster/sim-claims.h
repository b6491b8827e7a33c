/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the servers have committed of the claims of some names, for the checks of the simulation:
 * it reads the transactions. */

#pragma once

#include "claim-name.h"
#include "sim-loop.h"
#include "sim-tree.h"

#define SIM_NAMES  2
#define SIM_ROOT   "/weblocks"
#define SIM_BUCKET "bucket"
#define SIM_UID    1000

typedef struct SimClaims SimClaims;

/* The names are "0" and so on. */
SimClaims *sim_claims_new(SimLoop *loop);
void sim_claims_free(SimClaims *claims);
void sim_claims_committed(SimClaims *claims, const SimTransaction *transaction);

/* How many claims a name has. */
guint sim_claims_count(const SimClaims *claims, guint name);

/* The claim whose grant or steal got this block of tokens, and when. Borrowed. */
const ClaimName *
sim_claims_get_granted(const SimClaims *claims, guint64 block, gint64 *out_committed_us);

/* Whether the claim was deleted by another session. If it was replaced by its own session, this is
 * about the claim in its place. */
gboolean sim_claims_was_stolen(const SimClaims *claims, const ClaimName *name);

/* When the oldest of the claims that wait for this one was created. */
gint64 sim_claims_get_oldest_rival_us(const SimClaims *claims, guint name, const ClaimName *own);

/* The number of committed grants that conflicted with an earlier claim. */
guint sim_claims_get_n_wrong_grants(const SimClaims *claims);
