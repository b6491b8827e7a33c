/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-claims.h"

#include <string.h>

#include "paths.h"

typedef struct {
    ClaimName name;
    gint64 since_us; /* when it was made, or granted */
} Claim;

/* A claim that was deleted in the transaction that made another one, or by another session. */
typedef struct {
    ClaimName name;
    gboolean is_replaced;
    ClaimName next;
    guint64 ended_by;
} Ended;

struct SimClaims {
    SimLoop *loop;
    char *paths[SIM_NAMES];
    char *tokens_path;
    GArray *current[SIM_NAMES]; /* of Claim */
    GHashTable *granted;        /* block of tokens -> Claim, owned */
    guint64 last_block;
    GArray *ended; /* of Ended */
    guint n_wrong_grants;
};

SimClaims *
sim_claims_new(SimLoop *loop)
{
    SimClaims *claims = g_new0(SimClaims, 1);

    claims->loop = loop;
    claims->tokens_path = engine_path_tokens(SIM_ROOT, SIM_BUCKET);
    claims->granted = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    claims->ended = g_array_new(FALSE, FALSE, sizeof(Ended));
    for (guint i = 0; i < SIM_NAMES; i++) {
        const char name[] = {(char)('0' + i), '\0'};

        claims->paths[i] = engine_path_name(SIM_ROOT, SIM_BUCKET, SIM_UID, name);
        claims->current[i] = g_array_new(FALSE, FALSE, sizeof(Claim));
    }
    return claims;
}

void
sim_claims_free(SimClaims *claims)
{
    for (guint i = 0; i < SIM_NAMES; i++) {
        g_free(claims->paths[i]);
        g_array_unref(claims->current[i]);
    }
    g_free(claims->tokens_path);
    g_hash_table_unref(claims->granted);
    g_array_unref(claims->ended);
    g_free(claims);
}

/* Parses the path of a claim. Returns the number of the name, or -1. */
static int
parse(const SimClaims *claims, const char *path, ClaimName *out_name)
{
    for (int i = 0; i < SIM_NAMES; i++)
        if (g_str_has_prefix(path, claims->paths[i]) && path[strlen(claims->paths[i])] == '/' &&
            claim_name_parse(strrchr(path, '/') + 1, out_name))
            return i;
    return -1;
}

static void
remove_claim(GArray *current, const ClaimName *name)
{
    for (guint i = 0; i < current->len; i++)
        if (claim_name_equal(&g_array_index(current, Claim, i).name, name)) {
            g_array_remove_index(current, i);
            return;
        }
    g_assert_not_reached();
}

static void
take_grant(SimClaims *claims, guint number, const ClaimName *name, guint64 block)
{
    const GArray *current = claims->current[number];
    Claim granted = {*name, claims->loop->now_us};
    const Claim *earlier;
    GHashTableIter iter;

    /* The turn goes on with other tokens. */
    g_hash_table_iter_init(&iter, claims->granted);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&earlier))
        if (claim_name_equal(&earlier->name, name))
            granted.since_us = MIN(granted.since_us, earlier->since_us);
    g_hash_table_insert(claims->granted, g_memdup2(&block, sizeof block),
                        g_memdup2(&granted, sizeof granted));
    for (guint i = 0; i < current->len; i++)
        claims->n_wrong_grants += claim_name_blocks(&g_array_index(current, Claim, i).name, name);
}

/* Whether it counts a block of tokens, which has to be later than all before. What is beyond the
 * end of a generation is none. */
static gboolean
parse_block(SimClaims *claims, const SimOp *op, guint64 *out_block)
{
    guint64 generation;

    if (op->kind != SIM_SET || !g_str_has_prefix(op->path, claims->tokens_path))
        return FALSE;
    generation = g_ascii_strtoull(strrchr(op->path, '/') + 1, NULL, 10);
    *out_block = generation << 16 | (guint64)op->version;
    return op->version <= 0xffff;
}

/* A transaction is about one name, except at the end of a session. A grant checks the claim, and
 * counts a block. */
void
sim_claims_committed(SimClaims *claims, const SimTransaction *transaction)
{
    guint n_ended = claims->ended->len;
    gboolean has_own = FALSE, is_made = FALSE;
    ClaimName name, own = {0};
    guint64 block;
    int number, own_number = -1;

    for (guint i = 0; i < transaction->ops->len; i++) {
        const SimOp *op = &g_array_index(transaction->ops, SimOp, i);
        Ended ended = {.ended_by = transaction->session};

        if (parse_block(claims, op, &block)) {
            g_assert_cmpuint(block, >, claims->last_block);
            g_assert_true(has_own);
            claims->last_block = block;
            take_grant(claims, (guint)own_number, &own, block);
        }
        number = parse(claims, op->path, &name);
        if (number < 0)
            continue;
        if (op->kind == SIM_DELETE) {
            ended.name = name;
            g_array_append_val(claims->ended, ended);
            remove_claim(claims->current[number], &name);
            continue;
        }
        own = name;
        own_number = number;
        has_own = TRUE;
        if (op->kind == SIM_CREATE) {
            Claim claim = {name, claims->loop->now_us};

            g_array_append_val(claims->current[number], claim);
            is_made = TRUE;
        }
    }
    for (guint i = n_ended; is_made && i < claims->ended->len; i++) {
        Ended *ended = &g_array_index(claims->ended, Ended, i);

        ended->is_replaced = TRUE;
        ended->next = own;
    }
}

guint
sim_claims_count(const SimClaims *claims, guint name)
{
    return claims->current[name]->len;
}

const ClaimName *
sim_claims_get_granted(const SimClaims *claims, guint64 block, gint64 *out_committed_us)
{
    const Claim *claim = g_hash_table_lookup(claims->granted, &block);

    if (claim == NULL)
        g_error("the block of tokens is not one that was counted: %" G_GUINT64_FORMAT, block);
    *out_committed_us = claim->since_us;
    return &claim->name;
}

gboolean
sim_claims_was_stolen(const SimClaims *claims, const ClaimName *name)
{
    for (guint i = 0; i < claims->ended->len; i++) {
        const Ended *ended = &g_array_index(claims->ended, Ended, i);

        if (!claim_name_equal(&ended->name, name))
            continue;
        if (ended->ended_by != name->session)
            return TRUE;
        if (!ended->is_replaced)
            return FALSE;
        name = &ended->next; /* which was stolen later, if at all */
    }
    return FALSE;
}

gint64
sim_claims_get_oldest_rival_us(const SimClaims *claims, guint name, const ClaimName *own)
{
    const GArray *current = claims->current[name];
    gint64 oldest_us = G_MAXINT64;

    for (guint i = 0; i < current->len; i++) {
        const Claim *claim = &g_array_index(current, Claim, i);

        if (claim_name_blocks(own, &claim->name))
            oldest_us = MIN(oldest_us, claim->since_us);
    }
    return oldest_us;
}

guint
sim_claims_get_n_wrong_grants(const SimClaims *claims)
{
    return claims->n_wrong_grants;
}
