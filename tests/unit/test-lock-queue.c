/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-queue: the order of grants, and that unused queues are freed [2.5, 4.4]. */

#include "tests/unit/core-fixture.h"

/* The shared one behind an exclusive one that gives up. */
static void
test_middle_abort(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "");
    fixture_request(f, 'C', "n", "shared");
    assert_effects(f, "granted A1, waits B1, waits C1");
    g_assert_true(fixture_abort(f, 'B', 1));
    assert_effects(f, "aborted B1, granted C1");

    fixture_request(f, 'D', "n", "shared");
    assert_effects(f, "granted D1");
    fixture_request(f, 'B', "n", "");
    assert_state(f, "n S A1, n S C1, n S D1 | n X B2");
    fixture_release(f, 'C', 1);
    fixture_release(f, 'A', 1);
    assert_effects(f, "waits B2, released C1, released A1");
    fixture_release(f, 'D', 1);
    assert_effects(f, "released D1, granted B2");
}

static void
test_middle_death(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "");
    fixture_request(f, 'C', "n", "shared");
    effects_clear(&f->user_agent.effects);
    fixture_terminate(f, 'B');
    assert_effects(f, "terminated B1, granted C1");
}

static void
test_middle_timeout(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "timeout=30");
    fixture_request(f, 'C', "n", "shared");
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, 30);
    assert_effects(f, "timedout B1, granted C1");
}

/* Nobody overtakes, not even the old holder. */
static void
test_no_overtaking(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'A', "n", "shared");
    fixture_release(f, 'A', 1);
    assert_effects(f, "granted A1, waits B1, waits A2, waits A3, released A1, granted B1");
    fixture_release(f, 'B', 1);
    assert_effects(f, "released B1, granted A2");
    fixture_release(f, 'A', 2);
    assert_effects(f, "released A2, granted A3");
}

static void
test_longest_prefix_only(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "shared");
    fixture_request(f, 'D', "n", "");
    fixture_request(f, 'A', "n", "shared");
    effects_clear(&f->user_agent.effects);
    fixture_release(f, 'A', 1);
    assert_effects(f, "released A1, granted B1, granted C1");
    assert_state(f, "n S B1, n S C1 | n X D1, n S A2");
}

/* The head goes, and the next takes its place. */
static void
test_head_abort(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "");
    fixture_request(f, 'C', "n", "");
    effects_clear(&f->user_agent.effects);
    g_assert_true(fixture_abort(f, 'B', 1));
    assert_effects(f, "aborted B1");
    fixture_release(f, 'A', 1);
    assert_effects(f, "released A1, granted C1");
}

/* The writer has its turn after those who read now. */
static void
test_writer_does_not_starve(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "");
    assert_effects(f, "granted A1, granted B1, waits C1");
    for (guint i = 0; i < 50; i++)
        fixture_request(f, 'D', "n", "shared");
    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, 50);
    effects_clear(&f->user_agent.effects);
    fixture_release(f, 'A', 1);
    fixture_release(f, 'B', 1);
    assert_effects(f, "released A1, released B1, granted C1");
}

/* What happens to one name is nothing to another. */
static void
test_names_apart(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "");
    fixture_request(f, 'B', "m", "");
    fixture_request(f, 'A', "m", "shared");
    assert_effects(f, "granted A1, waits B1, granted B2, waits A2");
    fixture_request(f, 'C', "m", "steal");
    assert_effects(f, "stolen B2, granted C1");
    fixture_release(f, 'A', 1);
    assert_effects(f, "released A1, granted B1");
    assert_state(f, "n X B1, m X C1 | m S A2");
}

static void
test_admits(CoreFixture *f, gconstpointer data)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', FIXTURE_BUCKET);
    LockQueue *queue = lock_queue_get(manager, "n");

    g_assert_true(lock_queue_admits(queue, LOCK_MODE_SHARED));
    g_assert_true(lock_queue_admits(queue, LOCK_MODE_EXCLUSIVE));
    fixture_request(f, 'A', "n", "shared");
    g_assert_true(lock_queue_admits(queue, LOCK_MODE_SHARED));
    g_assert_false(lock_queue_admits(queue, LOCK_MODE_EXCLUSIVE));
    fixture_request(f, 'B', "n", "shared");
    fixture_release(f, 'A', 1);
    g_assert_true(lock_queue_admits(queue, LOCK_MODE_SHARED));
    g_assert_false(lock_queue_admits(queue, LOCK_MODE_EXCLUSIVE));
    fixture_release(f, 'B', 1);
    fixture_request(f, 'A', "n", "");
    g_assert_false(lock_queue_admits(queue, LOCK_MODE_SHARED));
    g_assert_false(lock_queue_admits(queue, LOCK_MODE_EXCLUSIVE));
    fixture_release(f, 'A', 2);
    g_assert_true(lock_queue_admits(queue, LOCK_MODE_EXCLUSIVE));
    lock_queue_unref(queue);
}

/* Found while referred to, and no longer. */
static void
test_lifetime(CoreFixture *f, gconstpointer data)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', FIXTURE_BUCKET);
    LockQueue *queue = lock_queue_get(manager, "n");

    g_assert_true(lock_queue_get(manager, "n") == queue);
    lock_queue_unref(queue);
    g_assert_true(lock_queue_ref(queue) == queue);
    lock_queue_unref(queue);
    g_assert_cmpuint(g_hash_table_size(manager->queues), ==, 1);
    lock_queue_unref(queue);
    g_assert_cmpuint(g_hash_table_size(manager->queues), ==, 0);

    fixture_request(f, 'A', "n", "");
    g_assert_cmpint(fixture_try(f, 'B', "n", "ifAvailable", NULL), ==, LOCK_RESULT_UNAVAILABLE);
    fixture_release(f, 'A', 1);
    effects_clear(&f->user_agent.effects);
    g_assert_cmpuint(g_hash_table_size(manager->queues), ==, 0);
    fixture_request(f, 'B', "n", "ifAvailable");
    assert_effects(f, "granted B1");
}

/* A queue that loses many things in one operation is in the list once, and off it afterwards. */
static void
test_touched_once(CoreFixture *f, gconstpointer data)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', FIXTURE_BUCKET);
    LockQueue *n = lock_queue_get(manager, "n");
    LockQueue *m = lock_queue_get(manager, "m");
    g_autoptr(GPtrArray) touched = g_ptr_array_new();

    for (guint i = 0; i < 10; i++) {
        lock_queue_touch(n, touched);
        lock_queue_touch(m, touched);
    }
    g_assert_cmpuint(touched->len, ==, 2);
    g_assert_true(touched->pdata[0] == n && touched->pdata[1] == m);
    g_assert_true(n->touched && m->touched);
    g_assert_cmpuint(n->refs, ==, 2);

    lock_queue_process_touched(touched);
    g_assert_cmpuint(touched->len, ==, 0);
    g_assert_false(n->touched || m->touched);
    g_assert_cmpuint(n->refs, ==, 1);
    lock_queue_unref(n);
    lock_queue_unref(m);
}

/* A deep queue, ended from the middle, the end and the head. */
static void
test_deep(CoreFixture *f, gconstpointer data)
{
    const guint64 n = 100000;

    f->user_agent.limits.max[LIMIT_REQUESTS_PER_CLIENT] = G_MAXINT32;
    f->user_agent.limits.max[LIMIT_REQUESTS_PER_UID] = G_MAXINT32;
    f->user_agent.limits.max[LIMIT_REQUESTS_TOTAL] = G_MAXINT32;
    fixture_request(f, 'A', "n", "");
    assert_effects(f, "granted A1");
    for (guint64 i = 0; i < n; i++)
        fixture_request(f, 'B', "n", i % 2 == 0 ? "" : "shared");
    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, n);
    effects_clear(&f->user_agent.effects);

    /* All exclusive ones from the middle outwards; the shared ones then go together. */
    for (guint64 i = 1; i < n / 2; i += 2) {
        g_assert_true(fixture_abort(f, 'B', n / 2 - i));
        g_assert_true(fixture_abort(f, 'B', n / 2 + i));
    }
    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, n / 2);
    effects_clear(&f->user_agent.effects);
    fixture_release(f, 'A', 1);
    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, n / 2 + 1);
    effects_clear(&f->user_agent.effects);
    g_assert_cmpuint(fixture_find_queue(f, 'A', "n")->held.length, ==, n / 2);
    fixture_terminate(f, 'B');
    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, n / 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/lock-queue/middle-abort", test_middle_abort);
    FIXTURE_TEST("/lock-queue/middle-death", test_middle_death);
    FIXTURE_TEST("/lock-queue/middle-timeout", test_middle_timeout);
    FIXTURE_TEST("/lock-queue/no-overtaking", test_no_overtaking);
    FIXTURE_TEST("/lock-queue/longest-prefix-only", test_longest_prefix_only);
    FIXTURE_TEST("/lock-queue/head-abort", test_head_abort);
    FIXTURE_TEST("/lock-queue/writer-does-not-starve", test_writer_does_not_starve);
    FIXTURE_TEST("/lock-queue/names-apart", test_names_apart);
    FIXTURE_TEST("/lock-queue/admits", test_admits);
    FIXTURE_TEST("/lock-queue/lifetime", test_lifetime);
    FIXTURE_TEST("/lock-queue/touched-once", test_touched_once);
    FIXTURE_TEST("/lock-queue/deep", test_deep);
    return g_test_run();
}
