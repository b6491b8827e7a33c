/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/permit: ranges of tokens, and the list of queues that changed. What is granted under which
 * permit is in test-random, with the demand reported to the cluster. */

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

static void
release(PermitFixture *f, char letter, guint64 id)
{
    g_assert_cmpint(fixture_release_in(&f->core, letter, BUCKET, id), ==, LOCK_RESULT_OK);
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
    PERMIT_TEST("/permit/tokens", test_tokens);
    PERMIT_TEST("/permit/ranges", test_ranges);
    PERMIT_TEST("/permit/tokens-of-the-cluster", test_tokens_of_the_cluster);
    PERMIT_TEST("/permit/changes", test_changes);
    return g_test_run();
}
