/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-manager: ids, tokens, and that nothing remains of names that are no longer used. The
 * algorithms are in test-random and ../spec/cases.txt. */

#include <malloc.h>

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

/* ---- memory */

/* After many names, no more memory is in use than before. */
static void
test_many_names_at_once(CoreFixture *f, gconstpointer data)
{
    struct mallinfo2 before, after;
    guint n_names = fixture_get_size(100000);
    char name[32];

    f->user_agent.limits.max[LIMIT_REQUESTS_PER_CLIENT] = G_MAXINT32;
    f->user_agent.limits.max[LIMIT_REQUESTS_PER_UID] = G_MAXINT32;
    f->user_agent.limits.max[LIMIT_REQUESTS_TOTAL] = G_MAXINT32;
    before = mallinfo2();
    for (guint i = 0; i < n_names; i++) {
        g_snprintf(name, sizeof name, "name-%u", i);
        fixture_request(f, 'A', name, "");
    }
    effects_clear(&f->user_agent.effects);
    for (guint64 id = 1; id <= n_names; id++)
        fixture_release(f, 'A', id);
    effects_clear(&f->user_agent.effects);
    after = mallinfo2();
    g_test_message("in use: %zu bytes before, %zu after", before.uordblks, after.uordblks);
    g_assert_cmpuint(after.uordblks, <, before.uordblks + 100000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/lock-manager/ids-are-64-bits", test_ids_are_64_bits);
    FIXTURE_TEST("/lock-manager/tokens-grow", test_tokens_grow);
    FIXTURE_TEST("/lock-manager/tokens-per-bucket", test_tokens_per_bucket);
    FIXTURE_TEST("/lock-manager/many-names-at-once", test_many_names_at_once);
    return g_test_run();
}
