/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which claims a host ends: by a steal, if others are made at the same time, and after a restart of
 * both processes. The test is the engine. Random schedules are in test-claims.c. */

#include "cluster/claims/claim.h"
#include "tests/lib/case.h"

#define OWN_SESSION 1

typedef struct {
    Claim *claim;
    guint32 last_turn;
    guint32 base; /* the number of the claim that is stolen from */
    GArray *children;
} Fixture;

/* The numbers of claims in turn; after G_MAXINT32 they continue with G_MININT32. */
static const guint32 bases[] = {1,          1000, G_MAXINT32 - 1, G_MAXINT32, (guint32)G_MININT32,
                                G_MAXUINT32};

static void
add_claim(Fixture *fixture, PermitMode mode, guint64 session, guint32 place)
{
    ClaimName name = {mode, session, 1, (gint32)(fixture->base + place), FALSE};

    g_array_append_val(fixture->children, name);
}

static ClaimAction
take(Fixture *fixture, ClaimOperation operation)
{
    ClaimAction action;

    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.operation, ==, operation);
    return action;
}

static void
take_permit(const Fixture *fixture, guint64 block)
{
    ClaimAction action;

    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.message, ==, CLAIM_PERMIT);
    g_assert_cmpuint(action.block, ==, block);
}

static void
answer_list(Fixture *fixture)
{
    const ClaimResult result = {.version = 3, .children = fixture->children};

    claim_result(fixture->claim, &result, 0);
}

/* Steals from a claim at place 0, when `n_later` others have been made since the list that shows
 * it. Then the children are the claim of the steal alone. */
static void
steal(Fixture *fixture, guint32 base, guint32 n_later, ClaimOutcome outcome)
{
    const ClaimDemand demand = {.want = PERMIT_EXCLUSIVE, .has_steal = TRUE};
    ClaimResult result = {.outcome = outcome};

    *fixture = (Fixture){.base = base, .children = g_array_new(FALSE, FALSE, sizeof(ClaimName))};
    fixture->claim = claim_new(1, &fixture->last_turn);
    claim_connected(fixture->claim, OWN_SESSION, 0);
    claim_set_demand(fixture->claim, &demand, 0);
    take(fixture, CLAIM_LIST);
    add_claim(fixture, PERMIT_EXCLUSIVE, 2, 0);
    answer_list(fixture);
    {
        g_auto(ClaimAction) action = take(fixture, CLAIM_STEAL);

        g_assert_cmpuint(action.ended->len, ==, 1);
        g_array_set_size(fixture->children, 0);
        g_array_append_val(fixture->children, action.name);
    }
    /* ZooKeeper's number has no 32nd bit: see engine_steal(). */
    result.n_created = (base + 1 + n_later) & (guint32)G_MAXINT32;
    claim_result(fixture->claim, &result, 0);
    take(fixture, CLAIM_LIST);
}

static void
clear(Fixture *fixture)
{
    g_array_unref(fixture->children);
    claim_free(fixture->claim);
}

/* One that was made after the steal has only ever waited. */
TEST("/steal/made-after", test_made_after)
{
    for (guint i = 0; i < G_N_ELEMENTS(bases); i++) {
        Fixture fixture;

        steal(&fixture, bases[i], 0, CLAIM_OK);
        add_claim(&fixture, PERMIT_SHARED, 3, 2);
        answer_list(&fixture);
        take(&fixture, CLAIM_GRANT);
        clear(&fixture);
    }
}

/* One that was made between the list and the steal may have been granted. */
TEST("/steal/made-before", test_made_before)
{
    for (guint i = 0; i < G_N_ELEMENTS(bases); i++) {
        Fixture fixture;

        steal(&fixture, bases[i], 1, CLAIM_OK);
        add_claim(&fixture, PERMIT_SHARED, 3, 1);
        add_claim(&fixture, PERMIT_SHARED, 4, 3);
        answer_list(&fixture);
        {
            g_auto(ClaimAction) action = take(&fixture, CLAIM_STEAL);

            g_assert_cmpuint(action.ended->len, ==, 2);
            g_assert_cmpuint(g_array_index(action.ended, ClaimName, 0).session, ==, 3);
            g_assert_cmpuint(g_array_index(action.ended, ClaimName, 1).session, ==, OWN_SESSION);
        }
        clear(&fixture);
    }
}

/* If the answer to the steal was lost, nothing is known of the others. */
TEST("/steal/lost-answer", test_lost_answer)
{
    for (guint i = 0; i < G_N_ELEMENTS(bases); i++) {
        Fixture fixture;

        steal(&fixture, bases[i], 0, CLAIM_UNKNOWN);
        answer_list(&fixture);
        take(&fixture, CLAIM_LIST);
        add_claim(&fixture, PERMIT_SHARED, 3, 2);
        answer_list(&fixture);
        {
            g_auto(ClaimAction) action = take(&fixture, CLAIM_STEAL);

            g_assert_cmpuint(action.ended->len, ==, 2);
        }
        clear(&fixture);
    }
}

/* A steal from a host that shares the lock with this one is aborted while it is carried out. The
 * lock service may hold the lock, under the permit that the steal has replaced: it gets another. */
TEST("/steal/not-needed", test_not_needed)
{
    const ClaimDemand shares = {.want = PERMIT_SHARED};
    const ClaimDemand steals = {.want = PERMIT_EXCLUSIVE, .has_steal = TRUE, .block = 5};
    const ClaimDemand wants_nothing = {.block = 5};
    Fixture fixture = {.base = 1, .children = g_array_new(FALSE, FALSE, sizeof(ClaimName))};

    fixture.claim = claim_new(1, &fixture.last_turn);
    claim_connected(fixture.claim, OWN_SESSION, 0);
    claim_set_demand(fixture.claim, &shares, 0);
    take(&fixture, CLAIM_CREATE);
    claim_result(fixture.claim, &(ClaimResult){.sequence = 2}, 0);
    take(&fixture, CLAIM_LIST);
    add_claim(&fixture, PERMIT_SHARED, 2, 0);
    add_claim(&fixture, PERMIT_SHARED, OWN_SESSION, 1);
    answer_list(&fixture);
    take(&fixture, CLAIM_GRANT);
    claim_result(fixture.claim, &(ClaimResult){.block = 5}, 0);
    take_permit(&fixture, 5);
    take(&fixture, CLAIM_LIST);
    answer_list(&fixture);
    claim_set_demand(fixture.claim, &steals, 0);
    {
        g_auto(ClaimAction) action = take(&fixture, CLAIM_STEAL);

        g_assert_cmpuint(action.ended->len, ==, 2);
        g_array_set_size(fixture.children, 0);
        g_array_append_val(fixture.children, action.name);
    }
    claim_set_demand(fixture.claim, &wants_nothing, 0);
    claim_result(fixture.claim, &(ClaimResult){.n_created = 3}, 0);
    take(&fixture, CLAIM_LIST);
    answer_list(&fixture);
    take(&fixture, CLAIM_GRANT);
    claim_result(fixture.claim, &(ClaimResult){.block = 6}, 0);
    take_permit(&fixture, 6);
    clear(&fixture);
}

/* This gateway continues the session of an earlier one, and the lock service ends before the first
 * list has been answered: the claim of what its next process still holds is not ended. */
TEST("/restart/during-the-first-list", test_restart)
{
    const ClaimDemand before = {.held = PERMIT_EXCLUSIVE, .block = 5, .session = 1, .turn = 1};
    const ClaimDemand after = {.held = PERMIT_EXCLUSIVE, .block = 5};
    Fixture fixture = {.children = g_array_new(FALSE, FALSE, sizeof(ClaimName))};

    fixture.claim = claim_new(1, &fixture.last_turn);
    claim_set_demand(fixture.claim, &before, 0);
    claim_connected(fixture.claim, OWN_SESSION, 0);
    take(&fixture, CLAIM_LIST);
    claim_service_restarted(fixture.claim);
    add_claim(&fixture, PERMIT_EXCLUSIVE, OWN_SESSION, 0);
    answer_list(&fixture);
    claim_set_demand(fixture.claim, &after, 0);
    take(&fixture, CLAIM_LIST);
    answer_list(&fixture);
    take(&fixture, CLAIM_PROVE);
    clear(&fixture);
}

TEST_MAIN(g_test_run())
