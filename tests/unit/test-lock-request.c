/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-request: its data, its states, and when it is grantable. */

#include "tests/unit/core-fixture.h"

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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/lock-request/fields", test_fields);
    FIXTURE_TEST("/lock-request/ids", test_ids);
    FIXTURE_TEST("/lock-request/ids-are-64-bits", test_ids_are_64_bits);
    FIXTURE_TEST("/lock-request/grantable", test_grantable);
    return g_test_run();
}
