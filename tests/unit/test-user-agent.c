/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/user-agent: the clocks of time-outs. Termination and time-outs among other
 * operations are in test-random. */

#include "tests/unit/core-fixture.h"

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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/user-agent/timeout/wall-clock", test_timeout_wall_clock);
    FIXTURE_TEST("/user-agent/timeout/far-clock", test_far_clock);
    return g_test_run();
}
