/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/user-agent: termination [2.6], time-outs, and shutdown. */

#include "tests/unit/core-fixture.h"

/* ---- termination */

/* The agent's connection continues as a new agent without requests, whose ids continue. */
static void
test_replace(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "key=7");
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "");
    effects_clear(&f->user_agent.effects);
    user_agent_replace(&f->user_agent, fixture_agent(f, 'A'));
    assert_effects(f, "terminated A2, terminated A1, granted B1");
    g_assert_cmpuint(fixture_agent(f, 'A')->requests.length, ==, 0);
    effects_clear(&f->user_agent.effects);
    g_assert_cmpuint(fixture_request(f, 'A', "n", "key=7"), ==, 3);
    assert_state_of(f, 'B', FIXTURE_BUCKET, "n X B1 | n X A3");
}

/* Its requests in all names: each queue is processed once, and all ends precede all grants. */
static void
test_terminate_many_names(CoreFixture *f, gconstpointer data)
{
    const guint n_names = 5000;
    Effects *effects = &f->user_agent.effects;
    char name[32];

    f->user_agent.limits.max[LIMIT_REQUESTS_PER_CLIENT] = G_MAXINT32;
    f->user_agent.limits.max[LIMIT_REQUESTS_PER_UID] = G_MAXINT32;
    f->user_agent.limits.max[LIMIT_REQUESTS_TOTAL] = G_MAXINT32;
    for (guint i = 0; i < n_names; i++) {
        g_snprintf(name, sizeof name, "name-%u", i);
        fixture_request(f, 'A', name, "shared");
        fixture_request(f, 'A', name, "shared");
        fixture_request(f, 'A', name, "");
        fixture_request(f, 'A', name, "shared");
        fixture_request(f, 'B', name, "");
    }
    effects_clear(effects);
    fixture_terminate(f, 'A');

    g_assert_cmpuint(effects_get_length(effects), ==, 5 * n_names);
    for (guint i = 0; i < 5 * n_names; i++) {
        const Effect *effect = effects_get(effects, i);
        gboolean is_end = i < 4 * n_names;

        g_assert_cmpint(effect->kind, ==, is_end ? EFFECT_TERMINATED : EFFECT_GRANTED);
        g_assert_cmpstr(effect->request->agent->client_id, ==, is_end ? "A" : "B");
        /* Pending requests end before held locks. */
        if (is_end)
            g_assert_cmpint(effect->request->token != 0, ==, i >= 2 * n_names);
    }
    effects_clear(effects);
    g_assert_cmpuint(fixture_agent(f, 'B')->requests.length, ==, n_names);
    for (guint64 id = 1; id <= n_names; id++)
        g_assert_cmpint(fixture_find(f, 'B', id)->state, ==, LOCK_REQUEST_HELD);
}

/* The deadlines of its pending requests are removed. */
static void
test_terminate_ends_deadlines(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=10");
    fixture_request(f, 'C', "n", "timeout=20");
    fixture_terminate(f, 'B');
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, 15);
    assert_effects(f, "");
    fixture_expire_after_ms(f, 5);
    assert_effects(f, "timedout C1");
    g_assert_cmpint(user_agent_get_next_deadline_ms(&f->user_agent), ==, -1);
}

static void
test_terminate_idle(CoreFixture *f, gconstpointer data)
{
    fixture_terminate(f, 'A');
    assert_effects(f, "");
}

/* ---- time-outs */

/* A request times out exactly on time: the microsecond in which the wait began counts in full. */
static void
test_timeout_exact(CoreFixture *f, gconstpointer data)
{
    fixture_advance_us(f, 1);
    user_agent_expire(&f->user_agent);
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=1");
    effects_clear(&f->user_agent.effects);
    g_assert_cmpint(user_agent_get_next_deadline_ms(&f->user_agent), ==, 5002);
    user_agent_expire(&f->user_agent);
    fixture_advance_us(f, 1000);
    user_agent_expire(&f->user_agent);
    assert_effects(f, "");
    fixture_advance_us(f, 998);
    user_agent_expire(&f->user_agent);
    assert_effects(f, "");
    fixture_advance_us(f, 1);
    user_agent_expire(&f->user_agent);
    assert_effects(f, "timedout B1");
}

/* Requests that became due earlier expire too; others remain. */
static void
test_timeout_checked_late(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=4294967295");
    fixture_request(f, 'C', "n", "timeout=30");
    fixture_request(f, 'D', "n", "timeout=20");
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, 3600 * 1000);
    assert_effects(f, "timedout D1, timedout C1");
    fixture_expire_after_ms(f, G_GINT64_CONSTANT(4294967295) - 3600 * 1000 - 1);
    assert_effects(f, "");
    fixture_expire_after_ms(f, 1);
    assert_effects(f, "timedout B1");
}

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

/* All due requests time out before any request is granted as a result. */
static void
test_timeout_together(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "timeout=30");
    fixture_request(f, 'C', "n", "shared timeout=31");
    fixture_request(f, 'D', "n", "shared");
    fixture_request(f, 'A', "n", "timeout=32");
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, 40);
    assert_effects(f, "timedout B1, timedout C1, timedout A2, granted D1");

    /* If time had been checked earlier, the second would have been granted. */
    fixture_request(f, 'B', "n", "timeout=30");
    fixture_request(f, 'C', "n", "shared timeout=31");
    fixture_expire_after_ms(f, 30);
    fixture_expire_after_ms(f, 1);
    assert_effects(f, "waits B2, waits C2, timedout B2, granted C2");
}

/* A steal doesn't change pending requests or their remaining times. */
static void
test_timeout_and_steal(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=30");
    fixture_expire_after_ms(f, 29);
    fixture_request(f, 'C', "n", "steal");
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, 1);
    assert_effects(f, "timedout B1");
    /* A time-out of a steal has no effect. */
    fixture_request(f, 'D', "n", "steal timeout=5");
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, 10);
    assert_effects(f, "");
}

static void
test_timeout_two_names(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'A', "m", "shared");
    fixture_request(f, 'B', "n", "timeout=10");
    fixture_request(f, 'B', "m", "timeout=10");
    fixture_request(f, 'C', "n", "shared");
    fixture_request(f, 'D', "m", "shared");
    effects_clear(&f->user_agent.effects);
    fixture_expire_after_ms(f, 10);
    g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, 4);
    for (guint i = 0; i < 4; i++)
        g_assert_cmpint(effects_get(&f->user_agent.effects, i)->kind, ==,
                        i < 2 ? EFFECT_TIMED_OUT : EFFECT_GRANTED);
    assert_state(f, "n S A1, m S A2, n S C1, m S D1 | -");
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
    FIXTURE_TEST("/user-agent/terminate/replace", test_replace);
    FIXTURE_TEST("/user-agent/terminate/many-names", test_terminate_many_names);
    FIXTURE_TEST("/user-agent/terminate/ends-deadlines", test_terminate_ends_deadlines);
    FIXTURE_TEST("/user-agent/terminate/idle", test_terminate_idle);
    FIXTURE_TEST("/user-agent/timeout/exact", test_timeout_exact);
    FIXTURE_TEST("/user-agent/timeout/checked-late", test_timeout_checked_late);
    FIXTURE_TEST("/user-agent/timeout/wall-clock", test_timeout_wall_clock);
    FIXTURE_TEST("/user-agent/timeout/together", test_timeout_together);
    FIXTURE_TEST("/user-agent/timeout/and-steal", test_timeout_and_steal);
    FIXTURE_TEST("/user-agent/timeout/two-names", test_timeout_two_names);
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
