/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/permit: what a queue in a cluster's bucket grants under which permit, undecided requests,
 * ranges of tokens, and the demand reported to the cluster. Random sequences are in test-random. */

#include "service/core/permit.h"
#include "tests/unit/core-fixture.h"

#define BUCKET "cluster:b"
#define IN     "bucket=" BUCKET

typedef struct {
    CoreFixture core; /* must be first: assert_effects() takes it */
    LockManager *manager;
    LockQueue *queue; /* of the name "n" */
} PermitFixture;

static void
set_up(PermitFixture *f, gconstpointer data)
{
    fixture_set_up(&f->core, data);
    f->manager = fixture_manager(&f->core, 'A', BUCKET);
    f->queue = lock_queue_get(f->manager, "n");
}

static void
tear_down(PermitFixture *f, gconstpointer data)
{
    lock_queue_unref(f->queue);
    lock_manager_unref(f->manager);
    fixture_tear_down(&f->core, data);
}

/* With the same tokens each time: a turn continues with the remaining ones. */
static void
set_permit(LockQueue *queue, PermitMode mode)
{
    permit_set(queue, mode, 1000, 1999);
}

#define PERMIT_TEST(path, function) \
    g_test_add(path, PermitFixture, NULL, set_up, function, tear_down)

static guint64
count_tokens(const LockQueue *queue)
{
    const Permit *permit = queue->permit;

    return permit->token_limit - MIN(permit->last_token, permit->token_limit);
}

/* "exclusive: want none held none, 0 over": also "ifAvailable" or "steal" for undecided requests;
 * the number is that of waiting requests. */
static char *
describe_demand(const PermitFixture *f)
{
    static const char *const modes[] = {"none", "shared", "exclusive"};
    static const char *const undecided[] = {"", " ifAvailable", " steal"};
    LockDemand demand = permit_get_demand(f->queue);

    return g_strdup_printf("%s: want %s held %s, %u%s%s", modes[demand.permit], modes[demand.want],
                           modes[demand.held], demand.n_waiting, undecided[demand.undecided],
                           demand.turn_over ? " over" : "");
}

#define assert_demand(f, expected)                     \
    G_STMT_START                                       \
    {                                                  \
        g_autofree char *demand_ = describe_demand(f); \
        g_assert_cmpstr(demand_, ==, expected);        \
    }                                                  \
    G_STMT_END

static void
release(PermitFixture *f, char letter, guint64 id)
{
    g_assert_cmpint(fixture_release_in(&f->core, letter, BUCKET, id), ==, LOCK_RESULT_OK);
}

/* ---- which buckets */

static void
test_other_buckets(CoreFixture *f, gconstpointer data)
{
    static const char *const names[] = {"default", "cluster", "Cluster:a", " cluster:a"};

    for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(LockManager) manager = fixture_manager(f, 'A', names[i]);
        LockQueue *queue = lock_queue_get(manager, "n");

        g_assert_false(manager->clustered);
        g_assert_null(queue->permit);
        lock_queue_unref(queue);
    }
    fixture_request(f, 'A', "n", "");
    assert_effects(f, "granted A1");
    g_assert_null(permit_take_changed(&f->user_agent));
}

/* ---- permits and turns */

static void
test_modes(PermitFixture *f, gconstpointer data)
{
    g_assert_true(f->manager->clustered);
    fixture_request(&f->core, 'A', "n", IN " shared");
    fixture_request(&f->core, 'B', "n", IN);
    fixture_request(&f->core, 'C', "n", IN " shared");
    assert_effects(&f->core, "waits A1, waits B1, waits C1");
    assert_demand(f, "none: want shared held none, 3");

    set_permit(f->queue, PERMIT_SHARED);
    assert_effects(&f->core, "granted A1");
    assert_demand(f, "shared: want exclusive held shared, 2");
    release(f, 'A', 1);
    assert_effects(&f->core, "released A1");
    assert_demand(f, "shared: want exclusive held none, 2 over");

    permit_return(f->queue);
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    assert_effects(&f->core, "granted B1");
    assert_demand(f, "exclusive: want shared held exclusive, 1");
    release(f, 'B', 1);
    assert_effects(&f->core, "released B1, granted C1");
    assert_demand(f, "exclusive: want none held shared, 0");
    fixture_request(&f->core, 'A', "n", IN " shared");
    assert_effects(&f->core, "granted A2");
    release(f, 'A', 2);
    release(f, 'C', 1);
    assert_effects(&f->core, "released A2, released C1");
    assert_demand(f, "exclusive: want none held none, 0 over");
    /* A permit that has not been returned yet can be used. */
    fixture_request(&f->core, 'A', "n", IN);
    assert_effects(&f->core, "granted A3");
}

static void
test_yield(PermitFixture *f, gconstpointer data)
{
    permit_yield(f->queue, FALSE); /* a yield for an earlier turn has no effect */
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    fixture_request(&f->core, 'A', "n", IN);
    fixture_request(&f->core, 'B', "n", IN);
    permit_yield(f->queue, FALSE);
    fixture_request(&f->core, 'C', "n", IN);
    permit_yield(f->queue, FALSE); /* a second yield doesn't extend the turn */
    assert_effects(&f->core, "granted A1, waits B1, waits C1");
    release(f, 'A', 1);
    assert_effects(&f->core, "released A1, granted B1");
    assert_demand(f, "exclusive: want exclusive held exclusive, 1");
    release(f, 'B', 1);
    assert_effects(&f->core, "released B1");
    assert_demand(f, "exclusive: want exclusive held none, 1 over");
    g_assert_cmpint(fixture_try(&f->core, 'D', "n", IN " ifAvailable", NULL), ==,
                    LOCK_RESULT_UNAVAILABLE);

    permit_return(f->queue);
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    assert_effects(&f->core, "granted C1");
    fixture_request(&f->core, 'A', "n", IN);
    permit_yield(f->queue, TRUE);
    release(f, 'C', 1);
    assert_effects(&f->core, "waits A2, released C1");
    assert_demand(f, "exclusive: want exclusive held none, 1 over");
}

/* A turn that is to end grants nothing more, also if the queue is empty. */
static void
test_yield_without_requests(PermitFixture *f, gconstpointer data)
{
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    fixture_request(&f->core, 'A', "n", IN);
    permit_yield(f->queue, FALSE);
    release(f, 'A', 1);
    assert_demand(f, "exclusive: want none held none, 0 over");
    fixture_request(&f->core, 'A', "n", IN);
    assert_effects(&f->core, "granted A1, released A1, waits A2");
    assert_demand(f, "exclusive: want exclusive held none, 1 over");
}

static void
test_revoke(PermitFixture *f, gconstpointer data)
{
    set_permit(f->queue, PERMIT_SHARED);
    fixture_request(&f->core, 'A', "n", IN " shared");
    fixture_request(&f->core, 'B', "n", IN " shared");
    fixture_request(&f->core, 'C', "n", IN);
    permit_revoke(f->queue, EFFECT_LOST);
    assert_effects(&f->core, "granted A1, granted B1, waits C1, lost A1, lost B1");
    assert_demand(f, "none: want exclusive held none, 1");
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    permit_revoke(f->queue, EFFECT_STOLEN);
    assert_effects(&f->core, "granted C1, stolen C1");
    permit_revoke(f->queue, EFFECT_STOLEN);
    assert_effects(&f->core, "");
}

/* Held locks stay held until the validity of the permit is known again. */
static void
test_suspend(PermitFixture *f, gconstpointer data)
{
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    fixture_request(&f->core, 'A', "n", IN);
    fixture_request(&f->core, 'B', "n", IN);
    permit_yield(f->queue, FALSE);
    permit_suspend(f->queue);
    assert_demand(f, "none: want exclusive held exclusive, 1");
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    fixture_request(&f->core, 'C', "n", IN);
    assert_effects(&f->core, "granted A1, waits B1, waits C1");
    permit_suspend(f->queue);
    release(f, 'A', 1);
    assert_effects(&f->core, "released A1");
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    release(f, 'B', 1);
    assert_effects(&f->core, "granted B1, released B1, granted C1");
}

/* A permit with a weaker mode than that of the held locks: those are lost, so that no lock is held
 * without a permit. */
static void
test_lesser_permit(PermitFixture *f, gconstpointer data)
{
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    fixture_request(&f->core, 'A', "n", IN);
    fixture_request(&f->core, 'B', "n", IN " shared");
    set_permit(f->queue, PERMIT_SHARED);
    assert_effects(&f->core, "granted A1, waits B1, lost A1, granted B1");
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    assert_effects(&f->core, "");
}

/* ---- undecided requests */

static void
test_if_available(PermitFixture *f, gconstpointer data)
{
    fixture_request(&f->core, 'A', "n", IN " ifAvailable");
    assert_effects(&f->core, "waits A1");
    assert_demand(f, "none: want exclusive held none, 1 ifAvailable");
    g_assert_cmpint(fixture_try(&f->core, 'B', "n", IN " ifAvailable", NULL), ==,
                    LOCK_RESULT_UNAVAILABLE);
    fixture_request(&f->core, 'B', "n", IN);
    permit_decline(f->queue);
    assert_effects(&f->core, "waits B1, unavailable A1");
    permit_decline(f->queue);
    assert_effects(&f->core, "");
    g_assert_cmpint(fixture_try(&f->core, 'A', "n", IN " ifAvailable shared", NULL), ==,
                    LOCK_RESULT_UNAVAILABLE);
    g_assert_true(fixture_abort_in(&f->core, 'B', BUCKET, 1));

    fixture_request(&f->core, 'A', "n", IN " ifAvailable shared");
    set_permit(f->queue, PERMIT_SHARED);
    assert_effects(&f->core, "aborted B1, waits A2, granted A2");
    assert_demand(f, "shared: want none held shared, 0");
    fixture_request(&f->core, 'B', "n", IN " ifAvailable shared");
    g_assert_cmpint(fixture_try(&f->core, 'B', "n", IN " ifAvailable", NULL), ==,
                    LOCK_RESULT_UNAVAILABLE);
    release(f, 'A', 2);
    release(f, 'B', 2);
    effects_clear(&f->core.user_agent.effects);
    /* A permit for shared locks doesn't decide whether the exclusive one is available. */
    fixture_request(&f->core, 'B', "n", IN " ifAvailable");
    assert_demand(f, "shared: want exclusive held none, 1 ifAvailable over");
    permit_return(f->queue);
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    assert_effects(&f->core, "waits B3, granted B3");
}

static void
test_steal(PermitFixture *f, gconstpointer data)
{
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    fixture_request(&f->core, 'A', "n", IN);
    fixture_request(&f->core, 'B', "n", IN " steal");
    assert_effects(&f->core, "granted A1, stolen A1, granted B1");

    /* Other hosts are waiting, so the cluster decides whether the turn continues. */
    permit_yield(f->queue, FALSE);
    fixture_request(&f->core, 'C', "n", IN " steal");
    fixture_request(&f->core, 'A', "n", IN);
    fixture_request(&f->core, 'D', "n", IN " steal");
    assert_effects(&f->core, "waits C1, waits A2, waits D1");
    assert_demand(f, "exclusive: want exclusive held exclusive, 3 steal");
    /* As without a cluster: the steals are done in order, before any waiting request is granted. */
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    assert_effects(&f->core, "stolen B1, granted C1, stolen C1, granted D1");
    assert_demand(f, "exclusive: want exclusive held exclusive, 1");
}

/* A pending steal does not delay requests that can be granted. */
static void
test_steal_delays_nothing(PermitFixture *f, gconstpointer data)
{
    fixture_request(&f->core, 'A', "n", IN " steal");
    fixture_request(&f->core, 'B', "n", IN " shared");
    g_assert_cmpint(fixture_try(&f->core, 'C', "n", IN " ifAvailable", NULL), ==,
                    LOCK_RESULT_UNAVAILABLE);
    assert_demand(f, "none: want exclusive held none, 2 steal");
    set_permit(f->queue, PERMIT_SHARED);
    fixture_request(&f->core, 'C', "n", IN " shared");
    assert_effects(&f->core, "waits A1, waits B1, granted B1, granted C1");
    permit_decline(f->queue);
    assert_effects(&f->core, "");
    g_assert_true(fixture_abort_in(&f->core, 'A', BUCKET, 1));
    assert_effects(&f->core, "aborted A1");
    assert_demand(f, "shared: want none held shared, 0");
}

static void
test_time(PermitFixture *f, gconstpointer data)
{
    fixture_request(&f->core, 'A', "n", IN " ifAvailable");
    fixture_request(&f->core, 'B', "n", IN " steal");
    fixture_request(&f->core, 'C', "n", IN " steal timeout=2500");
    fixture_request(&f->core, 'D', "n", IN " timeout=3000");
    fixture_request(&f->core, 'D', "n", IN " steal timeout=9000");
    assert_effects(&f->core, "waits A1, waits B1, waits C1, waits D1, waits D2");
    fixture_expire_after_ms(&f->core, PERMIT_IF_AVAILABLE_MS - 1);
    assert_effects(&f->core, "");
    fixture_expire_after_ms(&f->core, 1);
    assert_effects(&f->core, "unavailable A1");
    fixture_expire_after_ms(&f->core, 500);
    assert_effects(&f->core, "unavailable C1");
    fixture_expire_after_ms(&f->core, 500);
    assert_effects(&f->core, "timedout D1");
    fixture_expire_after_ms(&f->core, PERMIT_STEAL_MS - 3001);
    assert_effects(&f->core, "");
    fixture_expire_after_ms(&f->core, 1);
    assert_effects(&f->core, "unavailable B1, unavailable D2");
}

/* Once it is granted, its time limit no longer applies. */
static void
test_time_after_grant(PermitFixture *f, gconstpointer data)
{
    fixture_request(&f->core, 'A', "n", IN " ifAvailable");
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    fixture_expire_after_ms(&f->core, 10000);
    assert_effects(&f->core, "waits A1, granted A1");
    permit_revoke(f->queue, EFFECT_LOST);
    assert_effects(&f->core, "lost A1");
}

static void
test_repeated_key(PermitFixture *f, gconstpointer data)
{
    guint64 id = fixture_request(&f->core, 'A', "n", IN " steal key=7");

    g_assert_cmpuint(fixture_request(&f->core, 'A', "n", IN " steal key=7"), ==, id);
    g_assert_cmpuint(fixture_request(&f->core, 'A', "n", IN " key=7"), ==, id);
    fixture_request(&f->core, 'B', "n", IN " key=7");
    g_assert_cmpint(fixture_try(&f->core, 'B', "n", IN " steal key=7", NULL), ==,
                    LOCK_RESULT_KEY_MISMATCH);
    assert_effects(&f->core, "waits A1, waits B1");
}

static void
test_client_terminates(PermitFixture *f, gconstpointer data)
{
    fixture_request(&f->core, 'A', "n", IN " ifAvailable");
    fixture_request(&f->core, 'A', "n", IN " steal");
    fixture_request(&f->core, 'B', "n", IN);
    fixture_terminate(&f->core, 'A');
    assert_effects(&f->core, "waits A1, waits A2, waits B1, terminated A1, terminated A2");
    assert_demand(f, "none: want exclusive held none, 1");
}

/* ---- tokens */

static void
test_tokens(PermitFixture *f, gconstpointer data)
{
    LockQueue *other = lock_queue_get(f->manager, "m");

    permit_set(f->queue, PERMIT_SHARED, 1000, 1099);
    permit_set(other, PERMIT_EXCLUSIVE, 2000, 2099);
    g_assert_cmpuint(count_tokens(f->queue), ==, 100);
    for (guint i = 0; i < 100; i++) {
        guint64 id = fixture_request(&f->core, 'A', "n", IN " shared");

        g_assert_cmpuint(fixture_find(&f->core, 'A', id)->token, ==, 1000 + i);
        release(f, 'A', id);
    }
    g_assert_cmpuint(count_tokens(f->queue), ==, 0);
    effects_clear(&f->core.user_agent.effects);
    fixture_request(&f->core, 'B', "n", IN " shared");
    assert_effects(&f->core, "waits B1");
    /* The next turn has new tokens; tokens of other names are not used. */
    assert_demand(f, "shared: want shared held none, 1 over");
    g_assert_cmpuint(count_tokens(other), ==, 100);
    fixture_request(&f->core, 'B', "m", IN);
    g_assert_cmpuint(fixture_find(&f->core, 'B', 2)->token, ==, 2000);

    effects_clear(&f->core.user_agent.effects);
    permit_return(f->queue);
    assert_effects(&f->core, "");
    permit_set(f->queue, PERMIT_SHARED, 4000, 4000);
    assert_effects(&f->core, "granted B1");
    g_assert_cmpuint(fixture_find(&f->core, 'B', 1)->token, ==, 4000);
    g_assert_cmpuint(count_tokens(f->queue), ==, 0);
    lock_queue_unref(other);
}

/* Without tokens left, steals and requests with ifAvailable are undecided too. */
static void
test_undecided_without_tokens(PermitFixture *f, gconstpointer data)
{
    permit_set(f->queue, PERMIT_EXCLUSIVE, 2000, 2000);
    release(f, 'A', fixture_request(&f->core, 'A', "n", IN));
    fixture_request(&f->core, 'A', "n", IN " ifAvailable");
    assert_effects(&f->core, "granted A1, released A1, waits A2");
    assert_demand(f, "exclusive: want exclusive held none, 1 ifAvailable over");
    fixture_request(&f->core, 'B', "n", IN " steal");
    assert_demand(f, "exclusive: want exclusive held none, 2 steal over");
    effects_clear(&f->core.user_agent.effects);
    permit_return(f->queue);
    permit_set(f->queue, PERMIT_EXCLUSIVE, 3000, 3001);
    assert_effects(&f->core, "granted B1");
    g_assert_cmpuint(fixture_find(&f->core, 'B', 1)->token, ==, 3000);
}

/* Tokens never decrease. */
static void
test_ranges(PermitFixture *f, gconstpointer data)
{
    permit_set(f->queue, PERMIT_EXCLUSIVE, 1000, 1999);
    release(f, 'A', fixture_request(&f->core, 'A', "n", IN));
    permit_set(f->queue, PERMIT_EXCLUSIVE, 1, 999);
    g_assert_cmpuint(count_tokens(f->queue), ==, 0);
    permit_set(f->queue, PERMIT_EXCLUSIVE, 1000, 1998);
    g_assert_cmpuint(count_tokens(f->queue), ==, 998);
    permit_set(f->queue, PERMIT_EXCLUSIVE, 500, 2000);
    g_assert_cmpuint(count_tokens(f->queue), ==, 1000);
    fixture_request(&f->core, 'A', "n", IN);
    g_assert_cmpuint(fixture_find(&f->core, 'A', 2)->token, ==, 1001);
}

/* They are independent of the tokens of this machine's buckets. */
static void
test_tokens_of_the_cluster(PermitFixture *f, gconstpointer data)
{
    guint64 id;

    permit_set(f->queue, PERMIT_EXCLUSIVE, G_GUINT64_CONSTANT(1) << 52,
               (G_GUINT64_CONSTANT(1) << 52) + 9);
    release(f, 'A', fixture_request(&f->core, 'A', "n", IN));
    id = fixture_request(&f->core, 'A', "n", IN);
    g_assert_cmpuint(fixture_find(&f->core, 'A', id)->token, ==, (G_GUINT64_CONSTANT(1) << 52) + 1);
    id = fixture_request(&f->core, 'A', "n", "");
    g_assert_cmpuint(fixture_find(&f->core, 'A', id)->token, <, G_GUINT64_CONSTANT(1) << 52);
}

/* ---- restored locks */

static void
test_restored(PermitFixture *f, gconstpointer data)
{
    Agent *agent = fixture_agent(&f->core, 'A');
    LockRequest held = {.state = LOCK_REQUEST_HELD, .id = 1, .token = 900, .sequence = 1};
    LockRequest waits = {.state = LOCK_REQUEST_PENDING, .id = 2, .sequence = 2};

    agent->last_id = 2;
    g_assert_nonnull(lock_manager_restore(f->manager, agent, "n", &held));
    g_assert_nonnull(lock_manager_restore(f->manager, agent, "n", &waits));
    user_agent_process_all(&f->core.user_agent);
    assert_effects(&f->core, "");
    assert_demand(f, "none: want exclusive held exclusive, 1");
    g_assert_cmpint(fixture_try(&f->core, 'B', "n", IN " ifAvailable", NULL), ==,
                    LOCK_RESULT_UNAVAILABLE);
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    assert_effects(&f->core, "");
    release(f, 'A', 1);
    assert_effects(&f->core, "released A1, granted A2");
    g_assert_cmpuint(fixture_find(&f->core, 'A', 2)->token, ==, 1000);
}

static void
test_restored_and_lost(PermitFixture *f, gconstpointer data)
{
    Agent *agent = fixture_agent(&f->core, 'A');
    LockRequest held = {.state = LOCK_REQUEST_HELD, .id = 1, .token = 900, .sequence = 1};

    agent->last_id = 1;
    g_assert_nonnull(lock_manager_restore(f->manager, agent, "n", &held));
    permit_revoke(f->queue, EFFECT_LOST);
    assert_effects(&f->core, "lost A1");
    assert_demand(f, "none: want none held none, 0");
}

/* ---- the list of changes */

static void
assert_changed(PermitFixture *f, const LockQueue *first, const LockQueue *second)
{
    const LockQueue *expected[] = {first, second};

    for (guint i = 0; i < 2; i++) {
        LockQueue *queue = permit_take_changed(&f->core.user_agent);

        g_assert_true(queue == expected[i]);
        if (queue != NULL)
            lock_queue_unref(queue);
    }
}

static void
test_changes(PermitFixture *f, gconstpointer data)
{
    LockQueue *m = lock_queue_get(f->manager, "m");

    fixture_request(&f->core, 'A', "n", IN);
    fixture_request(&f->core, 'B', "n", IN);
    assert_changed(f, f->queue, NULL);
    set_permit(f->queue, PERMIT_EXCLUSIVE);
    assert_changed(f, f->queue, NULL);
    permit_yield(f->queue, FALSE);
    assert_changed(f, f->queue, NULL);
    release(f, 'A', 1);
    assert_changed(f, f->queue, NULL);
    fixture_request(&f->core, 'A', "m", IN " ifAvailable");
    fixture_terminate(&f->core, 'B');
    assert_changed(f, f->queue, m);
    assert_changed(f, NULL, NULL);
    permit_return(f->queue);
    permit_decline(m);
    assert_changed(f, m, f->queue);
    permit_revoke(m, EFFECT_LOST);
    assert_changed(f, m, NULL);
    lock_queue_unref(m);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/permit/other-buckets", test_other_buckets);
    PERMIT_TEST("/permit/modes", test_modes);
    PERMIT_TEST("/permit/yield", test_yield);
    PERMIT_TEST("/permit/yield-without-requests", test_yield_without_requests);
    PERMIT_TEST("/permit/revoke", test_revoke);
    PERMIT_TEST("/permit/suspend", test_suspend);
    PERMIT_TEST("/permit/lesser-permit", test_lesser_permit);
    PERMIT_TEST("/permit/if-available", test_if_available);
    PERMIT_TEST("/permit/steal", test_steal);
    PERMIT_TEST("/permit/steal-delays-nothing", test_steal_delays_nothing);
    PERMIT_TEST("/permit/time", test_time);
    PERMIT_TEST("/permit/time-after-grant", test_time_after_grant);
    PERMIT_TEST("/permit/repeated-key", test_repeated_key);
    PERMIT_TEST("/permit/client-terminates", test_client_terminates);
    PERMIT_TEST("/permit/tokens", test_tokens);
    PERMIT_TEST("/permit/if-available-without-tokens", test_undecided_without_tokens);
    PERMIT_TEST("/permit/ranges", test_ranges);
    PERMIT_TEST("/permit/tokens-of-the-cluster", test_tokens_of_the_cluster);
    PERMIT_TEST("/permit/restored", test_restored);
    PERMIT_TEST("/permit/restored-and-lost", test_restored_and_lost);
    PERMIT_TEST("/permit/changes", test_changes);
    return g_test_run();
}
