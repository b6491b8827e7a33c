/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-manager: which stored requests are restored, and what of them. That the restored are
 * unchanged is in test-random. */

#include "tests/unit/core-fixture.h"

#define NOW_MS (FIXTURE_MONOTONIC_US / 1000)

/* A valid pending request; each test changes the fields that it checks. */
static LockRequest
waiting(guint64 id, guint64 sequence)
{
    return (LockRequest){
        .state = LOCK_REQUEST_PENDING,
        .mode = LOCK_MODE_EXCLUSIVE,
        .id = id,
        .sequence = sequence,
        .since_us = 1000 * (gint64)id,
    };
}

static LockRequest
held(guint64 id, guint64 sequence, guint64 token)
{
    LockRequest parts = waiting(id, sequence);

    parts.state = LOCK_REQUEST_HELD;
    parts.token = token;
    return parts;
}

static LockRequest
shared(LockRequest parts)
{
    parts.mode = LOCK_MODE_SHARED;
    return parts;
}

/* Restores for the agent of that letter, with a last id of at least 100. */
static LockRequest *
restore_in(CoreFixture *fixture,
           char letter,
           const char *bucket,
           const char *name,
           const LockRequest *parts)
{
    g_autoptr(LockManager) manager = fixture_manager(fixture, letter, bucket);
    Agent *agent = fixture_agent(fixture, letter);

    agent->last_id = MAX(agent->last_id, 100);
    return lock_manager_restore(manager, agent, name, parts);
}

static LockRequest *
restore(CoreFixture *fixture, char letter, const char *name, LockRequest parts)
{
    return restore_in(fixture, letter, FIXTURE_BUCKET, name, &parts);
}

/* New tokens are above the restored ones, whatever the clock's time. */
static void
test_tokens_go_on(CoreFixture *fixture, gconstpointer data)
{
    const guint64 ahead = (guint64)FIXTURE_REALTIME_US * 2;
    guint64 id;

    g_assert_nonnull(restore(fixture, 'A', "x", held(1, 1, ahead)));
    g_assert_nonnull(restore(fixture, 'A', "y", held(2, 2, 1)));
    id = fixture_request(fixture, 'B', "z", "");
    g_assert_cmpuint(fixture_find(fixture, 'B', id)->token, ==, ahead + 1);
    /* Also after the bucket has been freed and created again. */
    fixture_release(fixture, 'A', 1);
    fixture_release(fixture, 'A', 2);
    fixture_release(fixture, 'B', id);
    effects_clear(&fixture->user_agent.effects);
    id = fixture_request(fixture, 'B', "z", "");
    g_assert_cmpuint(fixture_find(fixture, 'B', id)->token, >, ahead + 1);
}

/* A held lock has no deadline, even if its record has one. */
static void
test_a_lock_has_no_deadline(CoreFixture *fixture, gconstpointer data)
{
    LockRequest parts = held(1, 1, 10);

    parts.deadline_ms = NOW_MS + 1;
    g_assert_nonnull(restore(fixture, 'A', "x", parts));
    g_assert_cmpint(user_agent_get_next_deadline_ms(&fixture->user_agent), ==, -1);
}

/* Several shared locks, or one exclusive one. */
static void
test_held_together(CoreFixture *fixture, gconstpointer data)
{
    g_assert_nonnull(restore(fixture, 'A', "x", shared(held(1, 1, 10))));
    g_assert_nonnull(restore(fixture, 'B', "x", shared(held(1, 2, 11))));
    g_assert_null(restore(fixture, 'C', "x", held(1, 3, 12)));
    g_assert_nonnull(restore(fixture, 'A', "y", held(2, 4, 13)));
    g_assert_null(restore(fixture, 'C', "y", held(1, 5, 14)));
    g_assert_null(restore(fixture, 'C', "y", shared(held(1, 6, 15))));
    g_assert_nonnull(restore(fixture, 'C', "y", waiting(1, 7)));
    assert_state(fixture, "x S A1, x S B1, y X A2 | y X C1");
}

typedef struct {
    const char *what;
    LockRequest parts;
} Refusal;

static void
test_refusals(CoreFixture *fixture, gconstpointer data)
{
    LockRequest same_key = waiting(60, 10);
    const Refusal refusals[] = {
        {"id 0", waiting(0, 10)},
        {"an id that was never given", waiting(101, 10)},
        {"an id that is there", waiting(50, 10)},
        {"a key that is there", same_key},
        {"a place that is taken", waiting(60, 5)},
        {"a place before one that is taken", waiting(60, 4)},
        {"a place before the first", waiting(60, 0)},
        {"a lock without a token", held(60, 10, 0)},
        {"a token without a lock",
         {.state = LOCK_REQUEST_PENDING,
          .mode = LOCK_MODE_EXCLUSIVE,
          .id = 60,
          .sequence = 10,
          .token = 5}},
    };
    LockRequest first = held(50, 5, 10);

    first.key = 3;
    g_assert_nonnull(restore(fixture, 'A', "x", first));
    for (guint i = 0; i < G_N_ELEMENTS(refusals); i++) {
        LockRequest parts = refusals[i].parts;

        if (g_str_equal(refusals[i].what, "a key that is there"))
            parts.key = 3;
        g_test_message("%s", refusals[i].what);
        g_assert_null(restore(fixture, 'A', "y", parts));
    }
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->user_agent), ==, 1);
    g_assert_null(fixture_find_queue(fixture, 'A', "y"));
    /* Ids and keys are unique within an agent, and sequence numbers within a bucket. */
    first.state = LOCK_REQUEST_PENDING;
    first.token = 0;
    first.sequence = 6;
    g_assert_nonnull(restore(fixture, 'B', "x", first));
    first.id = 51;
    first.sequence = 1;
    first.key = 4;
    g_assert_nonnull(restore_in(fixture, 'B', "other", "x", &first));
}

/* A manager and its agents belong to one principal. */
static void
test_of_another_principal(CoreFixture *fixture, gconstpointer data)
{
    const LockRequest parts = waiting(1, 1);
    g_autoptr(LockManager) manager = fixture_manager(fixture, 'A', FIXTURE_BUCKET);
    Agent *agent = fixture_agent(fixture, 'F');

    agent->last_id = 100;
    g_assert_null(lock_manager_restore(manager, agent, "x", &parts));
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->user_agent), ==, 0);
}

/* Limits do not apply to restored requests. */
static void
test_limits_do_not_matter(CoreFixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < N_LIMITS; i++)
        fixture->user_agent.limits.max[i] = 1;
    for (guint i = 1; i <= 5; i++)
        g_assert_nonnull(restore(fixture, 'A', "a long name", waiting(i, i)));
    g_assert_cmpint(fixture_try(fixture, 'A', "x", "", NULL), !=, LOCK_RESULT_OK);
    user_agent_process_all(&fixture->user_agent);
    for (guint i = 1; i <= 5; i++)
        g_assert_cmpint(fixture_release(fixture, 'A', i), ==, LOCK_RESULT_OK);
    effects_clear(&fixture->user_agent.effects);
    fixture->user_agent.limits.max[LIMIT_TEXT_BYTES_PER_UID] = 100;
    fixture->user_agent.limits.max[LIMIT_TEXT_BYTES_TOTAL] = 100;
    fixture_request(fixture, 'A', "x", "");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/restore/tokens-go-on", test_tokens_go_on);
    FIXTURE_TEST("/restore/a-lock-has-no-deadline", test_a_lock_has_no_deadline);
    FIXTURE_TEST("/restore/held-together", test_held_together);
    FIXTURE_TEST("/restore/refusals", test_refusals);
    FIXTURE_TEST("/restore/of-another-principal", test_of_another_principal);
    FIXTURE_TEST("/restore/limits-do-not-matter", test_limits_do_not_matter);
    return g_test_run();
}
