/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-queue: unused queues are freed [4.4]. The order of grants [2.5] is in
 * ../spec/cases.txt. */

#include "tests/unit/core-fixture.h"

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

/* A queue is found as long as it has a reference. */
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

/* A queue that several requests leave in one operation is in the list of touched queues once, and
 * not in it afterwards. */
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

/* Requests of a long queue end in the middle, at the end and at the head. */
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

    /* All exclusive requests end, from the middle outwards; the shared ones are then granted
     * together. */
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
    FIXTURE_TEST("/lock-queue/admits", test_admits);
    FIXTURE_TEST("/lock-queue/lifetime", test_lifetime);
    FIXTURE_TEST("/lock-queue/touched-once", test_touched_once);
    FIXTURE_TEST("/lock-queue/deep", test_deep);
    return g_test_run();
}
