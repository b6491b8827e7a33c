/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/state: everything that was committed is restored unchanged by the next service. Ids and
 * clocks are in ../bus/test_state.py. */

#include <string.h>

#include "tests/state/state-fixture.h"

/* The deadline of a cluster's lease, which changes without a request. */
static void
test_deadline(Fixture *fixture, gconstpointer data)
{
    static const gint64 deadlines_us[] = {5000000, G_MAXINT64, 0, 7, 0};
    World *world = &fixture->world;

    g_assert_cmpint(world->deadline_us, ==, 0);
    world_request(world, 'A', "x", "bucket=cluster:b");
    for (guint i = 0; i < G_N_ELEMENTS(deadlines_us); i++) {
        state_note_deadline(world->state, deadlines_us[i]);
        state_note_deadline(world->state, deadlines_us[i]);
        world_commit(world);
        fixture_check_stored(fixture);
        g_assert_cmpint(world->deadline_us, ==, deadlines_us[i]);
        /* The file that the restarted service writes has it too. */
        fixture_reopen(fixture);
        g_assert_cmpint(world->deadline_us, ==, deadlines_us[i]);
    }
}

/* Requests are restored in the order in which they were made, not in that of agents. */
static void
test_order(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 a, b, c, held;

    world_request(world, 'A', "z", "");
    world_request(world, 'B', "z", "");
    held = world_request(world, 'D', "x", "");
    c = world_request(world, 'C', "x", "");
    b = world_request(world, 'B', "x", "");
    world_request(world, 'B', "gone", "");
    a = world_request(world, 'A', "x", "");
    world_abort(world, 'B', b);
    b = world_request(world, 'B', "x", "");
    world_commit(world);
    fixture_reopen(fixture);
    world_release(world, 'D', held);
    g_assert_cmpint(world_find(world, 'C', c)->state, ==, LOCK_REQUEST_HELD);
    world_release(world, 'C', c);
    g_assert_cmpint(world_find(world, 'A', a)->state, ==, LOCK_REQUEST_HELD);
    world_commit(world);
    fixture_check_stored(fixture);
    world_release(world, 'A', a);
    g_assert_cmpint(world_find(world, 'B', b)->state, ==, LOCK_REQUEST_HELD);
}

/* The number of agents and requests that the file has. */
static guint
count_records(const Fixture *fixture)
{
    g_autofree char *text = world_describe_file(fixture->path);
    guint n = 0;

    for (const char *line = text; (line = strchr(line, '\n')) != NULL; line++)
        n++;
    return n;
}

/* An agent without requests has a record until it disconnects, since its ids must not be reused. */
static void
test_agent_records(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 id = world_request(world, 'A', "x", "");

    world_request(world, 'B', "y", "");
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 4);
    world_release(world, 'A', id);
    world_terminate(world, 'B');
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 1);
    fixture_reopen(fixture);
    world_terminate(world, 'A');
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 0);
}

/* ---- turns */

/* A request that is made and ends within one turn is never written. */
static void
test_one_turn(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    g_autofree char *before = NULL;
    g_autofree char *after = NULL;
    gsize n_before, n_after;
    guint64 id;

    id = world_request(world, 'A', "x", "");
    world_commit(world);
    g_assert_true(g_file_get_contents(fixture->path, &before, &n_before, NULL));
    for (guint i = 0; i < 100; i++)
        world_release(world, 'A', world_request(world, 'A', "y", ""));
    world_commit(world);
    world_commit(world);
    g_assert_true(g_file_get_contents(fixture->path, &after, &n_after, NULL));
    g_assert_cmpmem(after, n_after, before, n_before);
    world_release(world, 'A', id);
    world_commit(world);
    fixture_check_stored(fixture);
}

static void
test_agent_ends_in_its_first_turn(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;

    world_request(world, 'A', "x", "");
    world_request(world, 'B', "x", "");
    world_terminate(world, 'A');
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 2);
    fixture_check_stored(fixture);
}

/* ---- tokens */

static guint64
take_token(World *world, const char *options)
{
    guint64 id = world_request(world, 'A', "x", options);
    guint64 token = world_find(world, 'A', id)->token;

    g_assert_cmpuint(token, !=, 0);
    world_release(world, 'A', id);
    world_commit(world);
    return token;
}

/* Also if the clock is set back, in buckets that exist and in new ones, after any number of tokens.
 */
static void
test_tokens_grow(Fixture *fixture, gconstpointer data)
{
    static const guint counts[] = {1, 2, 70000, 1};
    World *world = &fixture->world;
    guint64 last = 0;

    for (guint round = 0; round < G_N_ELEMENTS(counts); round++) {
        guint64 token;

        for (guint i = 0; i < counts[round]; i++) {
            token = take_token(world, "");
            g_assert_cmpuint(token, >, last);
            last = token;
        }
        token = take_token(world, "bucket=other");
        g_assert_cmpuint(token, >, last);
        last = token;
        world_close(world);
        world_open_at(world, fixture->directory, FIXTURE_BUS, 1, WORLD_MONOTONIC_US,
                      WORLD_REALTIME_US - (gint64)(round + 1) * G_USEC_PER_SEC * 86400);
    }
    g_assert_cmpuint(take_token(world, ""), >, last);
}

/* Times in the future, of a clock that was ahead, count as the time of the start. */
static void
test_clock_that_is_behind(Fixture *fixture, gconstpointer data)
{
    const gint64 ahead_us = G_GINT64_CONSTANT(3000) * G_USEC_PER_SEC;
    World *world = &fixture->world;
    const LockRequest *waiting;
    guint64 id;

    world_close(world);
    world_open_at(world, fixture->directory, FIXTURE_BUS, 1, WORLD_MONOTONIC_US + ahead_us,
                  WORLD_REALTIME_US);
    world_request(world, 'A', "x", "");
    id = world_request(world, 'B', "x", "timeout=3000");
    fixture_reopen(fixture);
    waiting = world_find(world, 'B', id);
    g_assert_cmpint(world_find(world, 'A', 1)->since_us, ==, WORLD_MONOTONIC_US);
    g_assert_cmpint(waiting->since_us, ==, WORLD_MONOTONIC_US);
    g_assert_cmpint(waiting->deadline_ms, ==, WORLD_MONOTONIC_US / 1000 + 3000);
}

/* ---- random operations */

static void
test_random(Fixture *fixture, gconstpointer data)
{
    guint32 seed = (guint32)g_test_rand_int();
    GRand *rand = g_rand_new_with_seed(seed);

    g_test_message("seed %u", seed);
    for (guint i = 0; i < 6000; i++) {
        world_do_something(&fixture->world, rand);
        if (g_rand_int_range(rand, 0, 4) == 0)
            world_commit(&fixture->world);
        if (g_rand_int_range(rand, 0, 100) == 0) {
            world_commit(&fixture->world);
            fixture_check_stored(fixture);
        }
    }
    g_rand_free(rand);
}

int
main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    STATE_TEST("/state/order", test_order);
    STATE_TEST("/state/agent-records", test_agent_records);
    STATE_TEST("/state/one-turn", test_one_turn);
    STATE_TEST("/state/agent-ends-in-its-first-turn", test_agent_ends_in_its_first_turn);
    STATE_TEST("/state/tokens-grow", test_tokens_grow);
    STATE_TEST("/state/clock-that-is-behind", test_clock_that_is_behind);
    STATE_TEST("/state/deadline", test_deadline);
    STATE_TEST("/state/random", test_random);
    return g_test_run();
}
