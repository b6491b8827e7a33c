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

/* ---- requests */

static void
test_fields(CoreFixture *f, gconstpointer data)
{
    LockRequest *held;
    LockRequest *waiting;

    fixture_request(f, 'A', "n", "shared");
    fixture_advance_us(f, 1234567);
    fixture_request(f, 'B', "n", "key=77 why=printing timeout=500");
    held = fixture_find(f, 'A', 1);
    waiting = fixture_find(f, 'B', 1);

    g_assert_cmpint(held->state, ==, LOCK_REQUEST_HELD);
    g_assert_cmpint(held->mode, ==, LOCK_MODE_SHARED);
    g_assert_cmpuint(held->key, ==, 0);
    g_assert_cmpuint(held->token, >, (guint64)FIXTURE_REALTIME_US);
    g_assert_cmpint(held->since_us, ==, FIXTURE_MONOTONIC_US);
    g_assert_cmpint(held->deadline_ms, ==, 0);
    g_assert_null(held->why);

    g_assert_cmpint(waiting->state, ==, LOCK_REQUEST_PENDING);
    g_assert_cmpint(waiting->mode, ==, LOCK_MODE_EXCLUSIVE);
    g_assert_cmpuint(waiting->key, ==, 77);
    g_assert_cmpuint(waiting->token, ==, 0);
    g_assert_cmpint(waiting->since_us, ==, FIXTURE_MONOTONIC_US + 1234567);
    /* Rounded up: 6234.567 ms plus 500 ms. */
    g_assert_cmpint(waiting->deadline_ms, ==, 6735);
    g_assert_cmpstr(waiting->why, ==, "printing");
    g_assert_cmpuint(waiting->sequence, >, held->sequence);
    g_assert_true(waiting->queue == held->queue);
    g_assert_true(waiting->agent == fixture_agent(f, 'B'));

    /* A grant sets the time of the state, and clears the deadline. */
    fixture_advance_us(f, 1000);
    fixture_release(f, 'A', 1);
    g_assert_cmpint(waiting->state, ==, LOCK_REQUEST_HELD);
    g_assert_cmpint(waiting->since_us, ==, FIXTURE_MONOTONIC_US + 1235567);
    g_assert_cmpint(waiting->deadline_ms, ==, 0);
    g_assert_cmpuint(waiting->token, !=, 0);
}

/* Ids count from 1 for each agent, over all buckets, and are never reused. */
static void
test_ids(CoreFixture *f, gconstpointer data)
{
    g_assert_cmpuint(fixture_request(f, 'A', "n", ""), ==, 1);
    g_assert_cmpuint(fixture_request(f, 'A', "n", "bucket=other"), ==, 2);
    g_assert_cmpuint(fixture_request(f, 'A', "n", "timeout=1"), ==, 3);
    g_assert_cmpuint(fixture_request(f, 'B', "n", ""), ==, 1);
    g_assert_cmpuint(fixture_request(f, 'A', "n", ""), ==, 4);
    fixture_release(f, 'A', 1);
    g_assert_true(fixture_abort(f, 'A', 4));
    fixture_expire_after_ms(f, 2);
    fixture_terminate(f, 'B');
    effects_clear(&f->user_agent.effects);
    g_assert_cmpuint(fixture_request(f, 'A', "n", ""), ==, 5);

    /* A request that is refused or unavailable uses no id. */
    g_assert_cmpint(fixture_try(f, 'A', "-n", "", NULL), ==, LOCK_RESULT_NAME_RESERVED);
    g_assert_cmpint(fixture_try(f, 'A', "n", "ifAvailable", NULL), ==, LOCK_RESULT_UNAVAILABLE);
    g_assert_cmpuint(fixture_request(f, 'A', "n", ""), ==, 6);
}

/* Ids have 64 bits. */
static void
test_ids_are_64_bits(CoreFixture *f, gconstpointer data)
{
    guint64 big = G_GUINT64_CONSTANT(0x1ffffffff);

    fixture_agent(f, 'A')->last_id = big - 1;
    g_assert_cmpuint(fixture_request(f, 'A', "n", ""), ==, big);
    g_assert_cmpuint(fixture_request(f, 'A', "m", ""), ==, big + 1);
    g_assert_cmpint(fixture_release(f, 'A', big & G_MAXUINT32), ==, LOCK_RESULT_NOT_HELD);
    g_assert_cmpint(fixture_release(f, 'A', big), ==, LOCK_RESULT_OK);
}

/* [2.5] Only the first of a queue, and only if its mode is compatible with the held locks. */
static void
test_grantable(CoreFixture *f, gconstpointer data)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', FIXTURE_BUCKET);
    LockOptions options = {.mode = LOCK_MODE_SHARED, .why = ""};
    LockQueue *queue = lock_queue_get(manager, "n");
    LockRequest *first = lock_request_new(fixture_agent(f, 'A'), queue, &options);
    LockRequest *second = lock_request_new(fixture_agent(f, 'B'), queue, &options);

    g_queue_push_tail_link(&queue->pending, &first->in_queue);
    g_queue_push_tail_link(&queue->pending, &second->in_queue);
    g_assert_true(lock_request_is_grantable(first));
    g_assert_false(lock_request_is_grantable(second));
    g_queue_unlink(&queue->pending, &first->in_queue);
    g_assert_true(lock_request_is_grantable(second));

    g_queue_push_tail_link(&queue->held, &first->in_queue);
    g_assert_true(lock_request_is_grantable(second));
    second->mode = LOCK_MODE_EXCLUSIVE;
    g_assert_false(lock_request_is_grantable(second));
    first->mode = LOCK_MODE_EXCLUSIVE;
    g_assert_false(lock_request_is_grantable(second));
    second->mode = LOCK_MODE_SHARED;
    g_assert_false(lock_request_is_grantable(second));

    g_queue_unlink(&queue->pending, &second->in_queue);
    g_queue_unlink(&queue->held, &first->in_queue);
    first->state = second->state = LOCK_REQUEST_ENDED;
    lock_request_unref(first);
    lock_request_unref(second);
    lock_queue_unref(queue);
}

/* ---- effects */

static void
test_order(CoreFixture *f, gconstpointer data)
{
    Effects *effects = &f->user_agent.effects;

    g_assert_cmpuint(effects_get_length(effects), ==, 0);
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "shared");
    fixture_release(f, 'A', 1);
    g_assert_cmpuint(effects_get_length(effects), ==, 6);
    g_assert_cmpint(effects_get(effects, 0)->kind, ==, EFFECT_GRANTED);
    g_assert_cmpint(effects_get(effects, 1)->kind, ==, EFFECT_WAITING);
    g_assert_cmpint(effects_get(effects, 3)->kind, ==, EFFECT_RELEASED);
    assert_effects(f, "granted A1, waits B1, waits C1, released A1, granted B1, granted C1");
    g_assert_cmpuint(effects_get_length(effects), ==, 0);
}

/* An effect's request stays valid after the request, its queue, bucket and agent have ended. */
static void
test_references_request(CoreFixture *f, gconstpointer data)
{
    const Effect *effect;

    fixture_request(f, 'F', "n", "bucket=b why=for-a-test");
    effects_clear(&f->user_agent.effects);
    fixture_terminate(f, 'F');

    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, 1);
    effect = effects_get(&f->user_agent.effects, 0);
    g_assert_cmpint(effect->kind, ==, EFFECT_TERMINATED);
    g_assert_cmpint(effect->request->state, ==, LOCK_REQUEST_ENDED);
    g_assert_cmpstr(effect->request->queue->name, ==, "n");
    g_assert_cmpstr(effect->request->queue->manager->bucket, ==, "b");
    g_assert_cmpstr(effect->request->agent->client_id, ==, "F");
    g_assert_cmpstr(effect->request->why, ==, "for-a-test");
    g_assert_cmpuint(effect->request->token, !=, 0);
    g_assert_cmpuint(effect->request->agent->principal->identity.uid, ==, FIXTURE_OTHER_UID);
    effects_clear(&f->user_agent.effects);
}

/* If a name ends and is used again before the effects are taken, it is the same queue. */
static void
test_name_reused(CoreFixture *f, gconstpointer data)
{
    LockQueue *queue;

    fixture_request(f, 'A', "n", "");
    queue = fixture_find_queue(f, 'A', "n");
    fixture_release(f, 'A', 1);
    g_assert_true(fixture_find_queue(f, 'A', "n") == queue);
    fixture_request(f, 'B', "n", "");
    g_assert_true(fixture_find_queue(f, 'A', "n") == queue);
    fixture_release(f, 'B', 1);
    assert_effects(f, "granted A1, released A1, granted B1, released B1");
    g_assert_null(fixture_find_queue(f, 'A', "n"));
}

/* The memory of a burst is freed. */
static void
test_burst(CoreFixture *f, gconstpointer data)
{
    Effects *effects = &f->user_agent.effects;

    for (guint i = 0; i < 50000; i++)
        fixture_release(f, 'A', fixture_request(f, 'A', "n", ""));
    g_assert_cmpuint(effects_get_length(effects), ==, 100000);
    effects_clear(effects);
    g_assert_cmpuint(effects_get_length(effects), ==, 0);
    assert_state(f, "- | -");
    fixture_request(f, 'A', "n", "");
    assert_effects(f, "granted A50001");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/lock-queue/admits", test_admits);
    FIXTURE_TEST("/lock-queue/lifetime", test_lifetime);
    FIXTURE_TEST("/lock-queue/touched-once", test_touched_once);
    FIXTURE_TEST("/lock-queue/deep", test_deep);
    FIXTURE_TEST("/lock-request/fields", test_fields);
    FIXTURE_TEST("/lock-request/ids", test_ids);
    FIXTURE_TEST("/lock-request/ids-are-64-bits", test_ids_are_64_bits);
    FIXTURE_TEST("/lock-request/grantable", test_grantable);
    FIXTURE_TEST("/effects/order", test_order);
    FIXTURE_TEST("/effects/references-request", test_references_request);
    FIXTURE_TEST("/effects/name-reused", test_name_reused);
    FIXTURE_TEST("/effects/burst", test_burst);
    return g_test_run();
}
