/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/user-agent: the clocks of time-outs, and shutdown. Termination and time-outs among other
 * operations are in test-random. */

#include "tests/unit/core-fixture.h"

/* ---- time-outs */

/* The wall clock has no effect on time-outs. */
static void
test_timeout_wall_clock(CoreFixture *f, gconstpointer data)
{
    UserAgent *user_agent = &f->user_agent;

    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=100");
    effects_clear(&user_agent->effects);
    user_agent_set_time(user_agent, FIXTURE_MONOTONIC_US + 99000,
                        FIXTURE_REALTIME_US + G_GINT64_CONSTANT(3600) * G_USEC_PER_SEC);
    user_agent_expire(user_agent);
    assert_effects(f, "");
    user_agent_set_time(user_agent, FIXTURE_MONOTONIC_US + 100000,
                        FIXTURE_REALTIME_US - G_GINT64_CONSTANT(3600) * G_USEC_PER_SEC);
    user_agent_expire(user_agent);
    assert_effects(f, "timedout B1");

    /* A monotonic clock that goes back has no effect. */
    user_agent_set_time(user_agent, 0, 0);
    g_assert_cmpint(user_agent->now_us, ==, FIXTURE_MONOTONIC_US + 100000);
}

/* ---- shutdown of the service */

static void
test_shut_down(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "timeout=10");
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'C', "n", "shared");
    effects_clear(&f->user_agent.effects);

    user_agent_shut_down(&f->user_agent);
    g_assert_cmpint(fixture_try(f, 'C', "m", "", NULL), ==, LOCK_RESULT_SHUTTING_DOWN);
    g_assert_cmpint(fixture_try(f, 'C', "-m", "steal", NULL), ==, LOCK_RESULT_SHUTTING_DOWN);
    user_agent_lose(&f->user_agent, fixture_agent(f, 'A'));
    assert_effects(f, "lost A2, lost A1");
    user_agent_lose(&f->user_agent, fixture_agent(f, 'B'));
    user_agent_lose(&f->user_agent, fixture_agent(f, 'C'));
    user_agent_lose(&f->user_agent, fixture_agent(f, 'D'));
    assert_effects(f, "lost B1, lost C1");
    g_assert_cmpuint(user_agent_get_n_requests(&f->user_agent), ==, 0);
    g_assert_cmpint(user_agent_get_next_deadline_ms(&f->user_agent), ==, -1);
}

/* A deadline and an id far beyond 32 bits. */
static void
test_far_clock(CoreFixture *f, gconstpointer data)
{
    fixture_expire_after_ms(f, G_GINT64_CONSTANT(1) << 42);
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=4294967295");
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, G_MAXUINT32 - 1);
    assert_effects(f, "");
    fixture_expire_after_ms(f, 1);
    assert_effects(f, "timedout B1");
}

/* ---- agents */

static void
test_finds_own(CoreFixture *f, gconstpointer data)
{
    Agent *a = fixture_agent(f, 'A');
    Agent *b = fixture_agent(f, 'B');

    g_assert_null(agent_find_request(a, 0));
    g_assert_null(agent_find_request(a, 1));
    fixture_request(f, 'A', "n", "key=5");
    fixture_request(f, 'A', "n", "key=6");
    fixture_request(f, 'B', "n", "");

    g_assert_cmpuint(agent_find_request(a, 1)->id, ==, 1);
    g_assert_cmpuint(agent_find_request(a, 2)->id, ==, 2);
    g_assert_null(agent_find_request(a, 3));
    g_assert_null(agent_find_request(a, 0));
    g_assert_null(agent_find_request(a, G_MAXUINT64));
    g_assert_true(agent_find_request(a, 1) != agent_find_request(b, 1));
    g_assert_null(agent_find_request(b, 2));

    g_assert_true(agent_find_key(a, 5) == agent_find_request(a, 1));
    g_assert_true(agent_find_key(a, 6) == agent_find_request(a, 2));
    g_assert_null(agent_find_key(a, 7));
    g_assert_null(agent_find_key(b, 5));
    g_assert_null(agent_find_key(a, 0));
    g_assert_null(agent_find_key(b, 0));
}

/* Requests are listed in the order of their creation, whatever their state and bucket. */
static void
test_order(CoreFixture *f, gconstpointer data)
{
    Agent *a = fixture_agent(f, 'A');
    guint64 expected = 1;

    fixture_request(f, 'B', "n", "");
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'A', "m", "bucket=other");
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'A', "m", "steal");
    g_assert_cmpuint(a->requests.length, ==, 4);
    for (const GList *link = a->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;

        g_assert_cmpuint(request->id, ==, expected++);
        g_assert_true(request->agent == a);
    }
    g_assert_cmpuint(g_hash_table_size(a->by_id), ==, 4);
    g_assert_null(a->by_key);
}

/* Each way to end removes the request from every index. */
static void
test_ends(CoreFixture *f, gconstpointer data)
{
    Agent *a = fixture_agent(f, 'A');

    fixture_request(f, 'A', "released", "key=1");
    fixture_request(f, 'A', "stolen", "key=2");
    fixture_request(f, 'B', "n", "");
    fixture_request(f, 'A', "n", "key=3");
    fixture_request(f, 'A', "n", "key=4 timeout=10");
    g_assert_cmpuint(a->requests.length, ==, 4);

    fixture_release(f, 'A', 1);
    fixture_request(f, 'B', "stolen", "steal");
    fixture_abort(f, 'A', 3);
    fixture_expire_after_ms(f, 10);
    g_assert_cmpuint(a->requests.length, ==, 0);
    g_assert_cmpuint(g_hash_table_size(a->by_id), ==, 0);
    g_assert_cmpuint(g_hash_table_size(a->by_key), ==, 0);
    for (guint64 id = 0; id < 6; id++)
        g_assert_null(agent_find_request(a, id));
    assert_effects(f, "granted A1, granted A2, granted B1, waits A3, waits A4, released A1, "
                      "stolen A2, granted B2, aborted A3, timedout A4");
}

static void
test_counts_clients(CoreFixture *f, gconstpointer data)
{
    LimitsAccount *account = &fixture_agent(f, 'A')->principal->account;

    g_assert_cmpuint(f->user_agent.agents.length, ==, 6);
    g_assert_cmpuint(account->n[CHARGE_CLIENT], ==, 5);
    fixture_terminate(f, 'B');
    g_assert_cmpuint(f->user_agent.agents.length, ==, 5);
    g_assert_cmpuint(account->n[CHARGE_CLIENT], ==, 4);

    /* A terminated agent counts while an effect refers to it. */
    fixture_request(f, 'C', "n", "");
    fixture_terminate(f, 'C');
    g_assert_cmpuint(account->n[CHARGE_CLIENT], ==, 4);
    assert_effects(f, "granted C1, terminated C1");
    g_assert_cmpuint(account->n[CHARGE_CLIENT], ==, 3);
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 0);
}

/* The limit can be reached and not exceeded, and a client that disconnects is discharged. */
static void
test_client_limit(CoreFixture *f, gconstpointer data)
{
    fixture_terminate(f, 'A');
    f->user_agent.limits.max[LIMIT_CLIENTS_PER_UID] = 5;
    g_assert_cmpint(fixture_new_agent(f, 'A'), ==, LOCK_RESULT_OK);
    fixture_terminate(f, 'B');
    f->user_agent.limits.max[LIMIT_CLIENTS_PER_UID] = 4;
    g_assert_cmpint(fixture_new_agent(f, 'B'), ==, lock_result_limit(LIMIT_CLIENTS_PER_UID));
    g_assert_null(f->agents['B' - 'A']);

    /* E is sandboxed, of the same user; F's user has another account. */
    fixture_terminate(f, 'F');
    g_assert_cmpint(fixture_new_agent(f, 'F'), ==, LOCK_RESULT_OK);
    fixture_terminate(f, 'E');
    g_assert_cmpint(fixture_new_agent(f, 'B'), ==, LOCK_RESULT_OK);
    g_assert_cmpint(fixture_new_agent(f, 'E'), ==, lock_result_limit(LIMIT_CLIENTS_PER_UID));
}

/* A client that connects again is a new agent. */
static void
test_reconnects(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "key=9");
    fixture_request(f, 'B', "n", "");
    fixture_terminate(f, 'A');
    assert_effects(f, "granted A1, waits B1, terminated A1, granted B1");
    g_assert_cmpint(fixture_new_agent(f, 'A'), ==, LOCK_RESULT_OK);
    g_assert_cmpint(fixture_release(f, 'A', 1), ==, LOCK_RESULT_NOT_HELD);
    g_assert_null(agent_find_key(fixture_agent(f, 'A'), 9));
    fixture_request(f, 'A', "n", "key=9");
    assert_state(f, "n X B1 | n X A1");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/user-agent/timeout/wall-clock", test_timeout_wall_clock);
    FIXTURE_TEST("/user-agent/timeout/far-clock", test_far_clock);
    FIXTURE_TEST("/user-agent/shut-down", test_shut_down);
    FIXTURE_TEST("/agent/finds-own", test_finds_own);
    FIXTURE_TEST("/agent/order", test_order);
    FIXTURE_TEST("/agent/ends", test_ends);
    FIXTURE_TEST("/agent/counts-clients", test_counts_clients);
    FIXTURE_TEST("/agent/client-limit", test_client_limit);
    FIXTURE_TEST("/agent/reconnects", test_reconnects);
    return g_test_run();
}
