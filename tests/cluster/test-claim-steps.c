/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* claim, step by step.
 *
 * settled: when it is known whether a node from before a restart gives a permit. Until then the
 * gateway doesn't send SYNCED, by which locks without a permit are lost.
 * turn: when the lock service is asked to end its turn.
 * steal: how many claims it ends; those that it did not see; a permit that it replaces.
 * notify: holders of shared permits are notified.
 * leftover: an earlier process has left two nodes of the same name.
 * kept: a permit from before the gateway, or the connection of weblocksd, has begun. */

#include "cluster/claims/claim.h"

#define TURN_US 1000000
/* The shortest turn. */
#define SHORT_US 1000
#define MINE     1
#define OTHER    2
#define SEQUENCE 7

typedef struct {
    guint32 last_turn;
    Claim *claim;
} Fixture;

static const ClaimDemand steal = {.want = PERMIT_EXCLUSIVE, .has_steal = TRUE};
static const ClaimName own = {PERMIT_EXCLUSIVE, MINE, 1, SEQUENCE};
static const ClaimName before_own = {PERMIT_EXCLUSIVE, OTHER, 1, SEQUENCE - 1};
static const ClaimName after_own = {PERMIT_EXCLUSIVE, OTHER, 1, SEQUENCE + 1};

/* An earlier process of the gateway has made the node `own`; weblocksd has a lock, and was
 * restarted, too. */
static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimDemand demand = {.held = PERMIT_EXCLUSIVE};

    fixture->last_turn = 0;
    fixture->claim = claim_new(TURN_US, &fixture->last_turn);
    claim_set_demand(fixture->claim, &demand, 0);
    claim_connected(fixture->claim, MINE, 0);
    g_assert_false(claim_is_settled(fixture->claim));
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    claim_free(fixture->claim);
}

static void
expect_operation(Fixture *fixture, ClaimOperation operation)
{
    g_auto(ClaimAction) action = {0};

    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.operation, ==, operation);
}

static void
expect_message(Fixture *fixture, ClaimMessage message)
{
    g_auto(ClaimAction) action = {0};

    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.message, ==, message);
}

static void
answer(Fixture *fixture, ClaimOperation operation, ClaimResult result)
{
    expect_operation(fixture, operation);
    claim_result(fixture->claim, &result, 0);
}

static void
answer_list(Fixture *fixture, const ClaimName *first, const ClaimName *second)
{
    g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(ClaimName));

    if (first != NULL)
        g_array_append_vals(children, first, 1);
    if (second != NULL)
        g_array_append_vals(children, second, 1);
    answer(fixture, CLAIM_LIST, (ClaimResult){.children = children});
}

/* The turn goes on, and ends, with operations all the time, as under contention. */
static void
test_permit(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimDemand returned = {.want = PERMIT_EXCLUSIVE, .is_returned = TRUE, .block = 5};

    answer_list(fixture, &own, &after_own);
    g_assert_false(claim_is_settled(fixture->claim));
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    g_assert_true(claim_is_settled(fixture->claim));
    expect_message(fixture, CLAIM_PERMIT);
    answer_list(fixture, &own, &after_own);
    claim_tick(fixture->claim, SHORT_US);
    expect_message(fixture, CLAIM_YIELD);
    claim_set_demand(fixture->claim, &returned, SHORT_US);
    g_assert_true(claim_is_settled(fixture->claim));
    answer(fixture, CLAIM_SWAP, (ClaimResult){.sequence = SEQUENCE + 2});
    g_assert_true(claim_is_settled(fixture->claim));
    expect_operation(fixture, CLAIM_LIST);
}

static void
test_conflict(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    answer_list(fixture, &before_own, &own);
    g_assert_true(claim_is_settled(fixture->claim));
    expect_operation(fixture, CLAIM_WATCH);
}

static void
test_deleted(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    answer_list(fixture, &after_own, NULL);
    g_assert_true(claim_is_settled(fixture->claim));
}

/* The answer to the grant is lost: it may have been committed. */
static void
test_unknown(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    answer_list(fixture, &own, NULL);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.outcome = CLAIM_UNKNOWN});
    g_assert_false(claim_is_settled(fixture->claim));
    answer_list(fixture, &own, NULL);
    g_assert_false(claim_is_settled(fixture->claim));
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 6});
    g_assert_true(claim_is_settled(fixture->claim));
}

static void
test_session_ended(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    claim_session_ended(fixture->claim, 0);
    g_assert_true(claim_is_settled(fixture->claim));
}

/* weblocksd connects again, and has nothing any more. */
static void
test_service_restarted(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimDemand none = {.want = PERMIT_NONE};

    answer_list(fixture, &own, NULL);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
    answer_list(fixture, &own, NULL);
    claim_service_restarted(fixture->claim);
    g_assert_false(claim_is_settled(fixture->claim));
    claim_set_demand(fixture->claim, &none, 0);
    g_assert_false(claim_is_settled(fixture->claim));
    answer(fixture, CLAIM_DELETE, (ClaimResult){.outcome = CLAIM_OK});
    g_assert_true(claim_is_settled(fixture->claim));
}

static void
expect_yield(Fixture *fixture, gint64 at_us, gboolean now)
{
    g_auto(ClaimAction) action = {0};

    g_assert_cmpint(claim_get_next_tick_us(fixture->claim), ==, at_us);
    claim_tick(fixture->claim, at_us - 1);
    g_assert_false(claim_take_action(fixture->claim, &action));
    claim_tick(fixture->claim, at_us);
    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.message, ==, CLAIM_YIELD);
    g_assert_cmpint(action.now, ==, now);
}

/* Another host waits from the beginning. */
static void
test_turn_awaited(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    answer_list(fixture, &own, &after_own);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
    answer_list(fixture, &own, &after_own);
    expect_yield(fixture, SHORT_US, FALSE);
    expect_yield(fixture, SHORT_US + TURN_US, TRUE);
    g_assert_cmpint(claim_get_next_tick_us(fixture->claim), ==, -1);
}

/* Another host begins to wait when the turn has been longer than the shortest. */
static void
test_turn_awaited_later(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(ClaimName));
    const ClaimName claims[] = {own, after_own};
    const ClaimResult listed = {.children = children};

    g_array_append_vals(children, claims, G_N_ELEMENTS(claims));
    answer_list(fixture, &own, NULL);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
    answer_list(fixture, &own, NULL);
    g_assert_cmpint(claim_get_next_tick_us(fixture->claim), ==, -1);
    claim_changed(fixture->claim, 5 * SHORT_US);
    expect_operation(fixture, CLAIM_LIST);
    claim_result(fixture->claim, &listed, 5 * SHORT_US);
    expect_message(fixture, CLAIM_YIELD);
    expect_yield(fixture, 5 * SHORT_US + TURN_US, TRUE);
}

/* A steal from this number of hosts, which share the lock. */
static GArray *
begin_steal(Fixture *fixture, gint32 n_hosts)
{
    GArray *children = g_array_new(FALSE, FALSE, sizeof(ClaimName));

    for (gint32 i = 0; i < n_hosts; i++) {
        const ClaimName name = {PERMIT_SHARED, OTHER + (guint64)i, 1, i};

        g_array_append_val(children, name);
    }
    g_clear_pointer(&fixture->claim, claim_free);
    fixture->claim = claim_new(TURN_US, &fixture->last_turn);
    claim_set_demand(fixture->claim, &steal, 0);
    claim_connected(fixture->claim, MINE, 0);
    answer(fixture, CLAIM_LIST, (ClaimResult){.children = children});
    return children;
}

static void
expect_steal(Fixture *fixture)
{
    g_auto(ClaimAction) action = {0};

    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.operation, ==, CLAIM_STEAL);
    g_assert_true(action.name.is_steal);
    /* And the own one, if there is one. */
    g_assert_cmpuint(action.ended->len - (action.name.turn > 1), ==, CLAIM_STEAL_MAX);
}

static void
test_steal(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GArray) children = begin_steal(fixture, CLAIM_STEAL_MAX);

    g_assert_cmpuint(children->len, ==, CLAIM_STEAL_MAX);
    expect_steal(fixture);
}

/* It waits as any other request does, also if the lock service repeats it. */
static void
test_steal_from_too_many(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimName mine = {PERMIT_EXCLUSIVE, MINE, 1, CLAIM_STEAL_MAX + 1};
    g_autoptr(GArray) children = begin_steal(fixture, CLAIM_STEAL_MAX + 1);

    answer(fixture, CLAIM_CREATE, (ClaimResult){.sequence = mine.sequence});
    g_array_append_val(children, mine);
    answer(fixture, CLAIM_LIST, (ClaimResult){.children = children});
    answer(fixture, CLAIM_NOTIFY, (ClaimResult){.outcome = CLAIM_OK});
    answer(fixture, CLAIM_WATCH, (ClaimResult){.outcome = CLAIM_OK});
    claim_set_demand(fixture->claim, &steal, 0);
    g_assert_false(claim_is_busy(fixture->claim));
    /* One of them ends. */
    g_array_remove_index(children, 0);
    claim_changed(fixture->claim, 0);
    claim_set_demand(fixture->claim, &steal, 0);
    answer(fixture, CLAIM_LIST, (ClaimResult){.children = children});
    expect_steal(fixture);
}

/* The request that steals ends before the steal is committed, which ends the own claim, too.
 * weblocksd has a permit, under which it may have granted a lock since it had nothing: it needs the
 * new one. */
static void
test_steal_unneeded(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimDemand steal_in_turn = {.want = PERMIT_EXCLUSIVE, .has_steal = TRUE, .block = 5};
    const ClaimDemand none = {.block = 5};
    const ClaimName stolen = {PERMIT_EXCLUSIVE, MINE, 1, SEQUENCE - 1, TRUE};

    answer_list(fixture, &own, &after_own);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
    answer_list(fixture, &own, &after_own);
    claim_set_demand(fixture->claim, &steal_in_turn, 0);
    claim_set_demand(fixture->claim, &none, 0);
    answer(fixture, CLAIM_STEAL, (ClaimResult){.outcome = CLAIM_OK});
    answer_list(fixture, &stolen, &after_own);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 6});
    expect_message(fixture, CLAIM_PERMIT);
    g_assert_false(claim_is_busy(fixture->claim));
}

/* A claim that was not in the list may have been granted before the steal, and what waits can't. */
static void
test_steal_again(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimName shared = {PERMIT_SHARED, OTHER, 3, SEQUENCE + 1};
    const ClaimName exclusive = {PERMIT_EXCLUSIVE, OTHER, 4, SEQUENCE + 2};
    g_autoptr(GArray) children = begin_steal(fixture, 1);
    ClaimName first = {PERMIT_EXCLUSIVE, MINE, 1, -1, TRUE};
    g_auto(ClaimAction) again = {0};

    answer(fixture, CLAIM_STEAL, (ClaimResult){.outcome = CLAIM_OK});
    g_array_set_size(children, 0);
    g_array_append_val(children, first);
    g_array_append_val(children, shared);
    g_array_append_val(children, exclusive);
    answer(fixture, CLAIM_LIST, (ClaimResult){.version = 1, .children = children});
    g_assert_true(claim_take_action(fixture->claim, &again));
    g_assert_cmpint(again.operation, ==, CLAIM_STEAL);
    g_assert_cmpint(again.version, ==, 1);
    g_assert_cmpuint(again.ended->len, ==, 2);
    g_assert_true(claim_name_equal(&g_array_index(again.ended, ClaimName, 0), &shared));
    claim_result(fixture->claim, &(ClaimResult){.outcome = CLAIM_OK}, 0);
    answer_list(fixture, &again.name, &exclusive);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
}

/* Who waits for shared claims notifies their holders, once. */
static void
test_notify(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimName shared[] = {{PERMIT_SHARED, OTHER, 1, SEQUENCE - 2},
                                {PERMIT_SHARED, OTHER + 1, 1, SEQUENCE - 1}};
    g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(ClaimName));

    g_array_append_vals(children, shared, G_N_ELEMENTS(shared));
    g_array_append_val(children, own);
    answer(fixture, CLAIM_LIST, (ClaimResult){.children = children});
    answer(fixture, CLAIM_NOTIFY, (ClaimResult){.outcome = CLAIM_OK});
    answer(fixture, CLAIM_WATCH, (ClaimResult){.outcome = CLAIM_OK});
    claim_changed(fixture->claim, 0);
    answer_list(fixture, &shared[0], &own);
    expect_operation(fixture, CLAIM_WATCH);
}

/* The permit was returned before, and nothing is wanted any more. */
static void
test_steal_returned(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimDemand steal_in_turn = {.want = PERMIT_EXCLUSIVE, .has_steal = TRUE, .block = 5};
    const ClaimDemand returned = {.is_returned = TRUE, .block = 5};

    answer_list(fixture, &own, &after_own);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
    answer_list(fixture, &own, &after_own);
    claim_set_demand(fixture->claim, &steal_in_turn, 0);
    claim_set_demand(fixture->claim, &returned, 0);
    answer(fixture, CLAIM_STEAL, (ClaimResult){.outcome = CLAIM_OK});
    expect_operation(fixture, CLAIM_DELETE);
}

/* The second one is deleted. */
static void
test_leftover(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimName second = {PERMIT_EXCLUSIVE, MINE, 2, SEQUENCE + 1};
    g_auto(ClaimAction) action = {0};

    answer_list(fixture, &own, &second);
    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.operation, ==, CLAIM_DELETE);
    g_assert_true(claim_name_equal(&action.name, &second));
    claim_result(fixture->claim, &(ClaimResult){.outcome = CLAIM_OK}, 0);
    g_assert_false(claim_is_settled(fixture->claim));
    answer_list(fixture, &own, NULL);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
    g_assert_true(claim_is_settled(fixture->claim));
}

/* ---- weblocksd has kept its permit */

static void
begin_with_permit(Fixture *fixture, guint64 session, guint32 turn)
{
    const ClaimDemand demand = {
        .held = PERMIT_EXCLUSIVE, .block = 5, .session = session, .turn = turn};

    g_clear_pointer(&fixture->claim, claim_free);
    fixture->claim = claim_new(TURN_US, &fixture->last_turn);
    claim_set_demand(fixture->claim, &demand, 0);
    claim_connected(fixture->claim, MINE, 0);
    g_assert_false(claim_is_settled(fixture->claim));
}

/* It is confirmed by one list, which sets the watch of the turn. */
static void
test_kept(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    g_autoptr(GArray) children = g_array_new(FALSE, FALSE, sizeof(ClaimName));
    const ClaimResult listed = {.children = children};
    g_auto(ClaimAction) action = {0};

    begin_with_permit(fixture, MINE, own.turn);
    g_array_append_val(children, own);
    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.operation, ==, CLAIM_LIST);
    g_assert_cmpint(action.watch, ==, PERMIT_EXCLUSIVE);
    claim_result(fixture->claim, &listed, 0);
    g_assert_true(claim_is_settled(fixture->claim));
    g_assert_true(claim_take_action(fixture->claim, &action));
    g_assert_cmpint(action.message, ==, CLAIM_PERMIT);
    g_assert_cmpuint(action.block, ==, 5);
    g_assert_true(claim_name_equal(&action.name, &own));
    g_assert_false(claim_take_action(fixture->claim, &action));
    /* Somebody ends it. */
    claim_changed(fixture->claim, 0);
    answer_list(fixture, NULL, NULL);
    expect_message(fixture, CLAIM_REVOKED);
}

/* Another one of this host is not the one of the permit, and is deleted. */
static void
check_not_kept(Fixture *fixture, guint64 session, guint32 turn)
{
    begin_with_permit(fixture, session, turn);
    answer_list(fixture, &own, NULL);
    g_assert_true(claim_is_settled(fixture->claim));
    expect_operation(fixture, CLAIM_DELETE);
}

static void
test_not_kept(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    check_not_kept(fixture, MINE, own.turn + 1);
    check_not_kept(fixture, OTHER, own.turn);
}

/* The gateway has not been restarted: the demand comes while it reads the claims. */
static void
test_kept_by_the_gateway(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    const ClaimDemand demand = {
        .held = PERMIT_EXCLUSIVE, .block = 5, .session = MINE, .turn = own.turn};

    answer_list(fixture, &own, NULL);
    answer(fixture, CLAIM_GRANT, (ClaimResult){.block = 5});
    expect_message(fixture, CLAIM_PERMIT);
    claim_service_restarted(fixture->claim);
    answer_list(fixture, &own, NULL);
    claim_set_demand(fixture->claim, &demand, 0);
    g_assert_false(claim_is_settled(fixture->claim));
    answer_list(fixture, &own, NULL);
    g_assert_true(claim_is_settled(fixture->claim));
    expect_message(fixture, CLAIM_PERMIT);
    g_assert_false(claim_is_busy(fixture->claim));
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add(path, Fixture, NULL, set_up, function, tear_down)
    ADD("/settled/permit", test_permit);
    ADD("/settled/conflict", test_conflict);
    ADD("/settled/deleted", test_deleted);
    ADD("/settled/unknown", test_unknown);
    ADD("/settled/session-ended", test_session_ended);
    ADD("/settled/service-restarted", test_service_restarted);
    ADD("/turn/awaited", test_turn_awaited);
    ADD("/turn/awaited-later", test_turn_awaited_later);
    ADD("/steal/limit", test_steal);
    ADD("/steal/too-many", test_steal_from_too_many);
    ADD("/steal/again", test_steal_again);
    ADD("/notify", test_notify);
    ADD("/steal/unneeded", test_steal_unneeded);
    ADD("/steal/returned", test_steal_returned);
    ADD("/leftover/deleted", test_leftover);
    ADD("/kept/confirmed", test_kept);
    ADD("/kept/another", test_not_kept);
    ADD("/kept/by-the-gateway", test_kept_by_the_gateway);
    return g_test_run();
}
