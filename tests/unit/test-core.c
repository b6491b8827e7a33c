/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What no operation of test-random depends on: ids, tokens and deadlines beyond 32 bits, equality
 * of identities, and what is visible to others. */

#include "tests/unit/core-fixture.h"

static const LockOptions plain = {.why = ""}, steal = {.why = "", .steal = TRUE};

static void
test_far_numbers(CoreFixture *f, gconstpointer data)
{
    const LockOptions timed = {.why = "", .timeout_ms = G_MAXUINT32};
    UserAgent *user_agent = &f->user_agent;

    fixture_advance_us(f, G_GINT64_CONSTANT(1000) << 42);
    fixture_agent(f, 'A')->last_id = G_MAXUINT32;
    g_assert_cmpuint(fixture_request(f, 'A', FIXTURE_BUCKET, &plain)->id, ==,
                     (guint64)G_MAXUINT32 + 1);
    fixture_request(f, 'B', FIXTURE_BUCKET, &timed);
    effects_clear(&user_agent->effects);
    for (guint i = 0; i < 2; i++) {
        fixture_advance_us(f, i == 0 ? (G_MAXUINT32 - 1) * G_GINT64_CONSTANT(1000) : 1000);
        user_agent_expire(user_agent);
        g_assert_cmpuint(effects_get_length(&user_agent->effects), ==, i);
    }
    g_assert_cmpint(effects_get(&user_agent->effects, 0)->kind, ==, EFFECT_TIMED_OUT);

    /* A monotonic clock that goes back has no effect. */
    user_agent_set_time(user_agent, 0, 0);
    g_assert_cmpint(user_agent->now_us, >, G_GINT64_CONSTANT(1000) << 42);
}

/* ---- tokens */

static guint64
take_token(CoreFixture *f, char letter, const char *bucket, const LockOptions *options)
{
    LockRequest *request = fixture_request(f, letter, bucket, options);
    guint64 token = request->token;

    g_assert_cmpuint(token, !=, 0);
    fixture_release(f, request);
    return token;
}

static void
test_tokens_grow(CoreFixture *f, gconstpointer data)
{
    guint64 last = (guint64)FIXTURE_REALTIME_US;

    /* The bucket is freed and created again each time; the clock stands still, advances, or is set
     * back. */
    for (guint i = 0; i < 100; i++) {
        guint64 token = take_token(f, 'A', FIXTURE_BUCKET, i % 2 == 0 ? &plain : &steal);

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
    last = take_token(f, 'A', FIXTURE_BUCKET, &plain);
    g_assert_cmpuint(last, ==, (guint64)FIXTURE_REALTIME_US * 2 + 1);
    g_assert_cmpuint(last, <, G_GUINT64_CONSTANT(1) << 53);
}

/* Each existing bucket counts separately. */
static void
test_tokens_per_bucket(CoreFixture *f, gconstpointer data)
{
    guint64 first = fixture_request(f, 'C', FIXTURE_BUCKET, &plain)->token;
    const guint64 other = fixture_request(f, 'A', "other", &plain)->id;

    for (guint i = 1; i <= 50; i++)
        g_assert_cmpuint(take_token(f, 'B', "other", &steal), ==, first + i);
    g_assert_cmpuint(take_token(f, 'B', FIXTURE_BUCKET, &steal), ==, first + 1);

    /* A new bucket starts above the tokens of all buckets that have ended. */
    g_assert_null(agent_find_request(fixture_agent(f, 'A'), other));
    g_assert_cmpuint(take_token(f, 'A', "third", &plain), >, first + 50);
}

/* What others do is not visible in tokens, also if they are faster than the clock, as long as they
 * are connected. */
static void
test_tokens_of_quick_others(CoreFixture *f, gconstpointer data)
{
    guint64 token = fixture_request(f, 'A', FIXTURE_BUCKET, &plain)->token;
    LockRequest *theirs = NULL;

    for (guint i = 0; i < 1000; i++)
        theirs = fixture_request(f, 'F', FIXTURE_BUCKET, &steal);
    fixture_release(f, theirs);
    g_assert_cmpuint(take_token(f, 'B', "b", &plain), ==, token);

    /* The clock is advanced, so that their tokens don't start at the same time. */
    fixture_terminate(f, 'F');
    effects_clear(&f->user_agent.effects);
    g_assert_cmpint(fixture_new_agent(f, 'F'), ==, LOCK_RESULT_OK);
    g_assert_cmpuint(take_token(f, 'F', FIXTURE_BUCKET, &plain), ==, token + 1000);
}

/* ---- principals */

/* Two identities have one principal exactly if all fields are equal, however much they resemble. */
static void
test_injective(CoreFixture *f, gconstpointer data)
{
    static const guint32 uids[] = {0, 1, 10, 4000000000, G_MAXUINT32 - 1};
    static const char *const app_ids[] = {
        "",  ".",  "..", "/",  "a",        "b",   "ab",     "a/b",
        "1", "10", "1:", ":1", "\xc3\xa4", "a\n", "snap.a",
    };
    const guint n = G_N_ELEMENTS(uids) * G_N_ELEMENTS(app_ids) * (PRINCIPAL_SNAP + 1);
    g_autoptr(GHashTable) principals = g_hash_table_new(NULL, NULL);
    GHashTableIter iter;
    gpointer principal;

    for (guint i = 0; i < 2 * n; i++) {
        const PrincipalIdentity identity = {
            .uid = uids[i % G_N_ELEMENTS(uids)],
            .kind = (PrincipalKind)(i / G_N_ELEMENTS(uids) % (PRINCIPAL_SNAP + 1)),
            .app_id =
                app_ids[i / G_N_ELEMENTS(uids) / (PRINCIPAL_SNAP + 1) % G_N_ELEMENTS(app_ids)],
        };
        Principal *one = principal_get(&f->user_agent, &identity);

        g_assert_cmpuint(one->identity.uid, ==, identity.uid);
        g_assert_cmpint(one->identity.kind, ==, identity.kind);
        g_assert_cmpstr(one->identity.app_id, ==, identity.app_id);
        g_assert_cmpint(g_hash_table_add(principals, one), ==, i < n);
        if (i >= n)
            principal_unref(one);
    }
    g_hash_table_iter_init(&iter, principals);
    while (g_hash_table_iter_next(&iter, &principal, NULL))
        principal_unref(principal);
}

/* Which principal may observe which. */
static void
test_scope(CoreFixture *f, gconstpointer data)
{
    static const PrincipalIdentity identities[] = {
        {0, PRINCIPAL_UNSANDBOXED, ""},    {0, PRINCIPAL_FLATPAK, "app"},
        {3000, PRINCIPAL_UNSANDBOXED, ""}, {3000, PRINCIPAL_FLATPAK, "app"},
        {3000, PRINCIPAL_SNAP, "app"},     {3000, PRINCIPAL_FLATPAK, "other"},
        {3001, PRINCIPAL_UNSANDBOXED, ""}, {3001, PRINCIPAL_FLATPAK, "app"},
    };
    static const char *const expected[] = {
        "XXXXXXXX", ".X......", "..XXXX..", "...X....",
        "....X...", ".....X..", "......XX", ".......X",
    };
    Principal *principals[G_N_ELEMENTS(identities)];

    for (guint i = 0; i < G_N_ELEMENTS(identities); i++) {
        g_assert_null(principal_find(&f->user_agent, &identities[i]));
        principals[i] = principal_get(&f->user_agent, &identities[i]);
        g_assert_true(principal_find(&f->user_agent, &identities[i]) == principals[i]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(identities); i++)
        for (guint j = 0; j < G_N_ELEMENTS(identities); j++) {
            g_test_message("principal %u observes %u", i, j);
            g_assert_cmpint(principal_may_observe(principals[i], principals[j]), ==,
                            expected[i][j] == 'X');
        }
    for (guint i = 0; i < G_N_ELEMENTS(identities); i++)
        principal_unref(principals[i]);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/core/far-numbers", test_far_numbers);
    FIXTURE_TEST("/core/tokens-grow", test_tokens_grow);
    FIXTURE_TEST("/core/tokens-per-bucket", test_tokens_per_bucket);
    FIXTURE_TEST("/core/tokens-of-quick-others", test_tokens_of_quick_others);
    FIXTURE_TEST("/core/injective", test_injective);
    FIXTURE_TEST("/core/scope", test_scope);
    return g_test_run();
}
