/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-manager: ids and tokens. The algorithms are in test-random and ../spec/cases.txt, that
 * nothing remains of names that are no longer used in ../bus/test_memory.py. */

#include "tests/unit/core-fixture.h"

static void
test_ids_are_64_bits(CoreFixture *f, gconstpointer data)
{
    fixture_agent(f, 'A')->last_id = G_MAXUINT32;
    g_assert_cmpuint(fixture_request(f, 'A', "n", ""), ==, (guint64)G_MAXUINT32 + 1);
    g_assert_cmpint(fixture_release(f, 'A', 0), ==, LOCK_RESULT_NOT_HELD);
    g_assert_cmpint(fixture_release(f, 'A', (guint64)G_MAXUINT32 + 1), ==, LOCK_RESULT_OK);
}

/* ---- tokens */

static guint64
take_token(CoreFixture *f, char letter, const char *options)
{
    guint64 id = fixture_request(f, letter, "t", options);
    const LockRequest *request = fixture_find(f, letter, id);
    guint64 token = request->token;

    g_assert_cmpuint(token, !=, 0);
    fixture_release_in(f, letter, request->queue->manager->bucket, id);
    effects_clear(&f->user_agent.effects);
    return token;
}

static void
test_tokens_grow(CoreFixture *f, gconstpointer data)
{
    guint64 last = (guint64)FIXTURE_REALTIME_US;

    /* The bucket is freed and created again each time; the clock stands still, advances, or is set
     * back. */
    for (guint i = 0; i < 100; i++) {
        guint64 token = take_token(f, 'A', i % 2 == 0 ? "" : "steal");

        g_assert_cmpuint(token, >, last);
        last = token;
        g_assert_null(lock_manager_find(fixture_agent(f, 'A')->principal, FIXTURE_BUCKET));
        if (i % 3 == 1)
            fixture_advance_us(f, 77);
        if (i % 10 == 9)
            user_agent_set_time(&f->user_agent, f->user_agent.now_us,
                                f->user_agent.realtime_us -
                                    G_GINT64_CONSTANT(3600) * G_USEC_PER_SEC);
    }
    /* They start at the clock's time, and fit into the 53 bits of a JavaScript number. */
    user_agent_set_time(&f->user_agent, f->user_agent.now_us, 2 * FIXTURE_REALTIME_US);
    g_assert_cmpuint(take_token(f, 'A', ""), ==, (guint64)FIXTURE_REALTIME_US * 2 + 1);
    g_assert_cmpuint(take_token(f, 'A', ""), <, G_GUINT64_CONSTANT(1) << 53);
}

/* Each existing bucket counts separately. */
static void
test_tokens_per_bucket(CoreFixture *f, gconstpointer data)
{
    guint64 first;

    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'A', "n", "bucket=other");
    fixture_request(f, 'F', "n", "");
    first = fixture_find(f, 'A', 1)->token;
    for (guint i = 0; i < 50; i++)
        take_token(f, 'B', "bucket=other");
    g_assert_cmpuint(take_token(f, 'B', "bucket=other"), ==, first + 51);
    g_assert_cmpuint(take_token(f, 'B', ""), ==, first + 1);

    /* A new bucket starts above the tokens of all buckets that have ended. */
    fixture_release_in(f, 'A', "other", 2);
    effects_clear(&f->user_agent.effects);
    g_assert_cmpuint(take_token(f, 'A', "bucket=third"), >, first + 51);
    g_assert_cmpuint(take_token(f, 'B', ""), ==, first + 2);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/lock-manager/ids-are-64-bits", test_ids_are_64_bits);
    FIXTURE_TEST("/lock-manager/tokens-grow", test_tokens_grow);
    FIXTURE_TEST("/lock-manager/tokens-per-bucket", test_tokens_per_bucket);
    return g_test_run();
}
