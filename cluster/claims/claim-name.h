/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The node name of a claim: MODE-SESSION-TURN-SEQUENCE, for example
 * `e-0100001f2c3d4e5f-00000007-0000000042`.
 *
 * MODE is `e` (exclusive), `s` (shared) or `x` (exclusive, made by a steal). SESSION is the
 * engine's session of the host, TURN is different for each claim that a session makes for a name:
 * by both a host distinguishes its own claim from those of others and from those of its
 * predecessors. SEQUENCE is the number that the engine appends to a sequential node, and is the
 * order of the claims: see claim_name_compare(). A claim that a steal makes has a number before all
 * others. */

#pragma once

#include <glib.h>

#include "permit-mode.h"

typedef struct {
    PermitMode mode; /* not PERMIT_NONE */
    guint64 session;
    guint32 turn;
    gint32 sequence;
    gboolean is_steal; /* then the mode is PERMIT_EXCLUSIVE */
} ClaimName;

/* With the final NUL. */
#define CLAIM_NAME_SIZE 64

/* Returns FALSE if `text` is not the name of a claim. Every name is accepted in one spelling only.
 */
gboolean claim_name_parse(const char *text, ClaimName *out_name);

/* Writes the name, or the part of it before SEQUENCE. */
void claim_name_format(const ClaimName *name, char text[CLAIM_NAME_SIZE]);
void claim_name_format_prefix(const ClaimName *name, char text[CLAIM_NAME_SIZE]);

gboolean claim_name_equal(const ClaimName *a, const ClaimName *b);

/* Returns a number that is less than, equal to or greater than 0 if `a` is before, in the same
 * place as, or after `b`. The engine's number after 2^31 - 1 is -2^31, so what counts is the
 * difference: the claims of a name that exist at the same time are made within 2^31 of each other.
 */
int claim_name_compare(const ClaimName *a, const ClaimName *b);

/* Whether `other` was made before `own` and their modes exclude each other, so that `own` has to
 * wait for its end. */
gboolean claim_name_blocks(const ClaimName *other, const ClaimName *own);

/* The first of some claims of one name, and the first exclusive one. */
typedef struct {
    gboolean has_first, has_exclusive;
    ClaimName first;
    ClaimName exclusive;
} ClaimOrder;

/* Begins without claims. */
void claim_order_init(ClaimOrder *order);
void claim_order_add(ClaimOrder *order, const ClaimName *name);

/* Whether none of the claims blocks `name`, which may be one of them. */
gboolean claim_order_is_first(const ClaimOrder *order, const ClaimName *name);
