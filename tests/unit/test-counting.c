/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-queue, lock-manager, inspect: counting locks and downgrades. Random operations with
 * both are in test-random. */

#include "service/core/permit.h"
#include "tests/unit/core-fixture.h"

#define CLUSTER "bucket=cluster:other"

static LockResult
try_request(CoreFixture *f, char letter, const char *options)
{
    guint64 id;

    return fixture_try(f, letter, "n", options, &id);
}

static LockResult
downgrade_in(CoreFixture *f, char letter, const char *bucket, guint64 id)
{
    g_autoptr(LockManager) manager = fixture_manager(f, letter, bucket);

    return lock_manager_downgrade(manager, fixture_agent(f, letter), id);
}

static LockResult
downgrade(CoreFixture *f, char letter, guint64 id)
{
    return downgrade_in(f, letter, FIXTURE_BUCKET, id);
}

/* ---- counting locks */

static void
test_slots(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "slots=2");
    fixture_request(f, 'B', "n", "slots=2");
    fixture_request(f, 'C', "n", "slots=2");
    fixture_request(f, 'D', "n", "slots=2");
    assert_effects(f, "granted A1, granted B1, waits C1, waits D1");
    fixture_release(f, 'B', 1);
    assert_effects(f, "released B1, granted C1");
    fixture_terminate(f, 'A');
    assert_effects(f, "terminated A1, granted D1");
}

/* One agent may have several slots; 4294967295 is more than there can be. */
static void
test_slots_of_one_agent(CoreFixture *f, gconstpointer data)
{
    for (guint i = 0; i < 3; i++)
        fixture_request(f, 'A', "n", "slots=4294967295");
    assert_effects(f, "granted A1, granted A2, granted A3");
}

/* Others wait until nothing is held, and what came later waits behind them: no slot is taken. */
static void
test_slots_and_others(CoreFixture *f, gconstpointer data)
{
    static const char *const others[] = {"", "slots=1", "slots=2", "slots=4", "shared"};

    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        guint64 a = fixture_request(f, 'A', "n", "slots=3"), b, c, d;

        b = fixture_request(f, 'B', "n", "slots=3");
        c = fixture_request(f, 'C', "n", others[i]);
        d = fixture_request(f, 'D', "n", "slots=3");
        g_assert_cmpint(fixture_find(f, 'B', b)->state, ==, LOCK_REQUEST_HELD);
        g_assert_cmpint(fixture_find(f, 'C', c)->state, ==, LOCK_REQUEST_PENDING);
        g_assert_cmpint(try_request(f, 'D', "ifAvailable slots=3"), ==, LOCK_RESULT_UNAVAILABLE);
        fixture_release(f, 'A', a);
        fixture_release(f, 'B', b);
        g_assert_cmpint(fixture_find(f, 'C', c)->state, ==, LOCK_REQUEST_HELD);
        g_assert_cmpint(fixture_find(f, 'D', d)->state, ==, LOCK_REQUEST_PENDING);
        fixture_release(f, 'C', c);
        g_assert_cmpint(fixture_find(f, 'D', d)->state, ==, LOCK_REQUEST_HELD);
        fixture_release(f, 'D', d);
        effects_clear(&f->user_agent.effects);
    }
}

/* A request that can't be granted yet does not keep its place free when it is aborted. */
static void
test_abort_behind(CoreFixture *f, gconstpointer data)
{
    g_autoptr(LockManager) manager = NULL;

    fixture_request(f, 'A', "n", "slots=2");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "slots=2");
    assert_effects(f, "granted A1, waits B1, waits C1");
    manager = fixture_manager(f, 'B', FIXTURE_BUCKET);
    g_assert_true(lock_manager_abort(manager, fixture_agent(f, 'B'), 1));
    assert_effects(f, "aborted B1, granted C1");
}

/* It takes all slots, and those that wait get the others. */
static void
test_steal(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "slots=2");
    fixture_request(f, 'A', "n", "slots=2");
    fixture_request(f, 'B', "n", "slots=2");
    assert_effects(f, "granted A1, granted A2, waits B1");
    fixture_request(f, 'C', "n", "steal");
    assert_effects(f, "stolen A1, stolen A2, granted C1");
    fixture_request(f, 'D', "n", "steal slots=2");
    assert_effects(f, "stolen C1, granted D1, granted B1");
}

static void
test_if_available(CoreFixture *f, gconstpointer data)
{
    g_assert_cmpint(try_request(f, 'A', "ifAvailable slots=2"), ==, LOCK_RESULT_OK);
    g_assert_cmpint(try_request(f, 'B', "ifAvailable slots=2"), ==, LOCK_RESULT_OK);
    g_assert_cmpint(try_request(f, 'C', "ifAvailable slots=2"), ==, LOCK_RESULT_UNAVAILABLE);
    assert_effects(f, "granted A1, granted B1");
    fixture_release(f, 'A', 1);
    g_assert_cmpint(try_request(f, 'C', "ifAvailable slots=3"), ==, LOCK_RESULT_UNAVAILABLE);
    g_assert_cmpint(try_request(f, 'C', "ifAvailable"), ==, LOCK_RESULT_UNAVAILABLE);
    g_assert_cmpint(try_request(f, 'C', "ifAvailable shared"), ==, LOCK_RESULT_UNAVAILABLE);
    g_assert_cmpint(try_request(f, 'C', "ifAvailable slots=2"), ==, LOCK_RESULT_OK);
}

static void
test_invalid(CoreFixture *f, gconstpointer data)
{
    g_assert_cmpint(try_request(f, 'A', "shared slots=1"), ==, LOCK_RESULT_SLOTS_NOT_EXCLUSIVE);
    g_assert_cmpint(try_request(f, 'A', "shared slots=2"), ==, LOCK_RESULT_SLOTS_NOT_EXCLUSIVE);
    g_assert_cmpint(try_request(f, 'A', "slots=2 " CLUSTER), ==, LOCK_RESULT_SLOTS_IN_CLUSTER);
    g_assert_cmpint(try_request(f, 'A', "shared slots=2 " CLUSTER), ==,
                    LOCK_RESULT_SLOTS_NOT_EXCLUSIVE);
    g_assert_cmpint(user_agent_get_n_requests(&f->user_agent), ==, 0);
    g_assert_cmpint(try_request(f, 'A', "slots=1 " CLUSTER), ==, LOCK_RESULT_OK);
}

static void
test_repeated_key(CoreFixture *f, gconstpointer data)
{
    g_assert_cmpint(try_request(f, 'A', "slots=2 key=1"), ==, LOCK_RESULT_OK);
    g_assert_cmpint(try_request(f, 'A', "slots=2 key=1"), ==, LOCK_RESULT_OK);
    g_assert_cmpint(try_request(f, 'A', "slots=3 key=1"), ==, LOCK_RESULT_KEY_MISMATCH);
    g_assert_cmpint(try_request(f, 'A', "key=1"), ==, LOCK_RESULT_KEY_MISMATCH);
    g_assert_cmpint(try_request(f, 'B', "key=1"), ==, LOCK_RESULT_OK);
    g_assert_cmpint(try_request(f, 'B', "slots=1 key=1"), ==, LOCK_RESULT_OK);
    g_assert_cmpint(try_request(f, 'B', "slots=2 key=1"), ==, LOCK_RESULT_KEY_MISMATCH);
    g_assert_cmpint(user_agent_get_n_requests(&f->user_agent), ==, 2);
}

/* ---- downgrade */

static void
test_downgrade(CoreFixture *f, gconstpointer data)
{
    guint64 token;

    fixture_request(f, 'A', "n", "key=7");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "shared");
    fixture_request(f, 'D', "n", "");
    assert_effects(f, "granted A1, waits B1, waits C1, waits D1");
    token = fixture_find(f, 'A', 1)->token;
    g_assert_cmpint(downgrade(f, 'A', 1), ==, LOCK_RESULT_OK);
    assert_effects(f, "downgraded A1, granted B1, granted C1");
    g_assert_cmpuint(fixture_find(f, 'A', 1)->token, ==, token);

    /* Its key is that of a shared lock now, and once more changes nothing. */
    g_assert_cmpint(try_request(f, 'A', "key=7"), ==, LOCK_RESULT_KEY_MISMATCH);
    g_assert_cmpint(try_request(f, 'A', "shared key=7"), ==, LOCK_RESULT_OK);
    g_assert_cmpint(downgrade(f, 'A', 1), ==, LOCK_RESULT_OK);
    assert_effects(f, "");
    fixture_release(f, 'A', 1);
    fixture_release(f, 'B', 1);
    fixture_release(f, 'C', 1);
    assert_effects(f, "released A1, released B1, released C1, granted D1");
}

static void
test_downgrade_counting(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "slots=3 key=7");
    fixture_request(f, 'B', "n", "slots=3");
    g_assert_cmpint(downgrade(f, 'A', 1), ==, LOCK_RESULT_OTHER_HOLDERS);
    assert_effects(f, "granted A1, granted B1");
    fixture_release(f, 'B', 1);
    fixture_request(f, 'C', "n", "shared");
    fixture_request(f, 'D', "n", "slots=3");
    g_assert_cmpint(downgrade(f, 'A', 1), ==, LOCK_RESULT_OK);
    assert_effects(f, "released B1, waits C1, waits D1, downgraded A1, granted C1");
    g_assert_cmpuint(fixture_find(f, 'A', 1)->slots, ==, 1);
    g_assert_cmpint(try_request(f, 'A', "shared key=7"), ==, LOCK_RESULT_OK);
}

static void
test_downgrade_not_held(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "");
    effects_clear(&f->user_agent.effects);
    g_assert_cmpint(downgrade(f, 'B', 1), ==, LOCK_RESULT_NOT_HELD); /* it waits */
    g_assert_cmpint(downgrade(f, 'A', 2), ==, LOCK_RESULT_NOT_HELD);
    g_assert_cmpint(downgrade(f, 'C', 1), ==, LOCK_RESULT_NOT_HELD);
    g_assert_cmpint(downgrade_in(f, 'A', "other", 1), ==, LOCK_RESULT_NOT_HELD);
    assert_effects(f, "");
}

/* The permit stays exclusive; what waits is granted under it, if its turn is not over. */
static void
test_downgrade_in_cluster(CoreFixture *f, gconstpointer data)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', "cluster:other");
    LockQueue *queue = lock_queue_get(manager, "n");

    permit_set(queue, PERMIT_EXCLUSIVE, 1, 2);
    fixture_request(f, 'A', "n", CLUSTER);
    fixture_request(f, 'B', "n", "shared " CLUSTER);
    permit_yield(queue, FALSE);
    fixture_request(f, 'C', "n", "shared " CLUSTER);
    lock_queue_unref(permit_take_changed(&f->user_agent));
    assert_effects(f, "granted A1, waits B1, waits C1");
    g_assert_cmpint(downgrade_in(f, 'A', "cluster:other", 1), ==, LOCK_RESULT_OK);
    assert_effects(f, "downgraded A1, granted B1");
    g_assert_cmpint(permit_get_demand(queue).permit, ==, PERMIT_EXCLUSIVE);
    g_assert_cmpint(permit_get_demand(queue).held, ==, PERMIT_SHARED);
    g_assert_false(permit_get_demand(queue).turn_over);
    lock_queue_unref(permit_take_changed(&f->user_agent)); /* it is listed again */

    fixture_release_in(f, 'A', "cluster:other", 1);
    fixture_release_in(f, 'B', "cluster:other", 1);
    g_assert_true(permit_get_demand(queue).turn_over);
    permit_return(queue);
    fixture_terminate(f, 'C');
    lock_queue_unref(permit_take_changed(&f->user_agent));
    lock_queue_unref(queue);
    effects_clear(&f->user_agent.effects);
}

/* ---- what Inspect shows */

static void
describe_entry(const InspectEntry *entry, gpointer data)
{
    GString *text = data;

    g_string_append_printf(text, "%s%s%u %u:", text->len > 0 ? " " : "",
                           entry->request->agent->client_id, entry->request->slots,
                           entry->position);
    for (guint i = 0; i < entry->n_blocked_by; i++)
        g_string_append(text, entry->blocked_by[i]);
}

static char *
inspect(CoreFixture *f)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', FIXTURE_BUCKET);
    const InspectFilter all = {.limit = G_MAXUINT32};
    GString *text = g_string_new(NULL);

    lock_manager_inspect(manager, &all, describe_entry, text);
    return g_string_free(text, FALSE);
}

#define assert_inspected(f, expected)              \
    G_STMT_START                                   \
    {                                              \
        g_autofree char *inspected_ = inspect(f);  \
        g_assert_cmpstr(inspected_, ==, expected); \
    }                                              \
    G_STMT_END

/* Of those that wait for a slot each waits for the holders; a free slot is not waited for. */
static void
test_blocked_by(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "slots=2");
    fixture_request(f, 'B', "n", "slots=2");
    fixture_request(f, 'C', "n", "slots=2");
    fixture_request(f, 'D', "n", "slots=2");
    assert_inspected(f, "A2 0: B2 0: C2 1:AB D2 2:AB");
    fixture_terminate(f, 'C');
    fixture_request(f, 'A', "n", "shared");
    fixture_release(f, 'B', 1);
    assert_inspected(f, "A2 0: D2 0: A1 1:AD");
    fixture_terminate(f, 'D');
    fixture_request(f, 'B', "n", "slots=2");
    assert_inspected(f, "A2 0: A1 1:A B2 2:A");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/counting/slots", test_slots);
    FIXTURE_TEST("/counting/slots-of-one-agent", test_slots_of_one_agent);
    FIXTURE_TEST("/counting/slots-and-others", test_slots_and_others);
    FIXTURE_TEST("/counting/abort-behind", test_abort_behind);
    FIXTURE_TEST("/counting/steal", test_steal);
    FIXTURE_TEST("/counting/if-available", test_if_available);
    FIXTURE_TEST("/counting/invalid", test_invalid);
    FIXTURE_TEST("/counting/repeated-key", test_repeated_key);
    FIXTURE_TEST("/counting/downgrade", test_downgrade);
    FIXTURE_TEST("/counting/downgrade-counting", test_downgrade_counting);
    FIXTURE_TEST("/counting/downgrade-not-held", test_downgrade_not_held);
    FIXTURE_TEST("/counting/downgrade-in-cluster", test_downgrade_in_cluster);
    FIXTURE_TEST("/counting/blocked-by", test_blocked_by);
    return g_test_run();
}
