/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/lock-manager: what ../spec/cases.txt, which is run on the core too, doesn't cover. */

#include <malloc.h>

#include "tests/unit/core-fixture.h"

/* ---- request */

static void
test_bad_options(CoreFixture *f, gconstpointer data)
{
    /* The order of the checks: of two errors the first is reported. */
    static const struct {
        const char *name;
        const char *options;
        LockResult expected;
    } rows[] = {
        {"-", "", LOCK_RESULT_NAME_RESERVED},
        {"-foo", "", LOCK_RESULT_NAME_RESERVED},
        {"-foo", "steal ifAvailable", LOCK_RESULT_NAME_RESERVED},
        {"n", "steal ifAvailable", LOCK_RESULT_STEAL_IF_AVAILABLE},
        {"n", "steal ifAvailable shared signal", LOCK_RESULT_STEAL_IF_AVAILABLE},
        {"n", "steal shared", LOCK_RESULT_STEAL_NOT_EXCLUSIVE},
        {"n", "steal shared signal", LOCK_RESULT_STEAL_NOT_EXCLUSIVE},
        {"n", "steal signal", LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE},
        {"n", "ifAvailable signal", LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE},
        {"n", "ifAvailable signal timeout=1", LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE},
        {"n", "ifAvailable timeout=1", LOCK_RESULT_TIMEOUT_IF_AVAILABLE},
        {"n", "ifAvailable timeout=1 shared", LOCK_RESULT_TIMEOUT_IF_AVAILABLE},
        {"", "", LOCK_RESULT_OK},
        {"x-foo", "", LOCK_RESULT_OK},
        {"n", "signal", LOCK_RESULT_OK},
        {"m", "signal shared timeout=1", LOCK_RESULT_OK},
        {"n", "steal timeout=1", LOCK_RESULT_OK},
    };

    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_assert_cmpint(fixture_try(f, 'A', rows[i].name, rows[i].options, NULL), ==,
                        rows[i].expected);
        if (rows[i].expected != LOCK_RESULT_OK) {
            assert_effects(f, "");
            assert_state(f, "- | -");
        }
    }
}

/* Names are compared as bytes. */
static void
test_names(CoreFixture *f, gconstpointer data)
{
    static const char *const names[] = {
        "",
        " ",
        "x-foo",
        "n",
        "N",
        "n ",
        "\xc3\xa4",         /* U+00E4 */
        "a\xcc\x88",        /* the same character, decomposed */
        "\xef\xbf\xbd",     /* U+FFFD */
        "\xef\xbf\xbf",     /* U+FFFF */
        "\xf0\x9f\x94\x92", /* U+1F512 */
        "\x10u0000",
        "/",
        "a\nb",
    };
    g_autofree char *one = g_strnfill(256, 'y');
    g_autofree char *other = g_strnfill(256, 'y');

    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        fixture_request(f, 'A', names[i], "ifAvailable");
    for (guint i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_cmpint(fixture_try(f, 'B', names[i], "ifAvailable", NULL), ==,
                        LOCK_RESULT_UNAVAILABLE);

    other[255] = 'z';
    fixture_request(f, 'A', one, "ifAvailable");
    fixture_request(f, 'A', other, "ifAvailable");
}

/* ---- steal */

/* Each steal ends one lock. */
static void
test_many_steals(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    effects_clear(&f->user_agent.effects);
    for (guint i = 0; i < 1000; i++) {
        fixture_request(f, (char)('A' + i % 4), "n", "steal");
        g_assert_cmpuint(effects_get_length(&f->user_agent.effects), ==, 2);
        effects_clear(&f->user_agent.effects);
    }
    g_assert_cmpuint(user_agent_get_n_requests(&f->user_agent), ==, 1);
}

/* ---- keys */

static void
test_key_repeats(CoreFixture *f, gconstpointer data)
{
    LockRequest *request;
    guint64 token;

    g_assert_cmpuint(fixture_request(f, 'A', "n", "key=7"), ==, 1);
    token = fixture_find(f, 'A', 1)->token;
    g_assert_cmpuint(fixture_request(f, 'B', "n", "key=7 timeout=100"), ==, 1);
    effects_clear(&f->user_agent.effects);

    g_assert_cmpuint(fixture_request(f, 'A', "n", "key=7"), ==, 1);
    g_assert_cmpuint(fixture_find(f, 'A', 1)->token, ==, token);
    fixture_advance_us(f, 50000);
    g_assert_cmpuint(fixture_request(f, 'B', "n", "key=7 timeout=100"), ==, 1);
    assert_effects(f, "");
    assert_state(f, "n X A1 | n X B1");

    /* The repeated call doesn't prolong the time-out. */
    fixture_expire_after_ms(f, 50);
    assert_effects(f, "timedout B1");

    /* A repeated steal steals no other lock. */
    g_assert_cmpuint(fixture_request(f, 'B', "n", "steal key=8"), ==, 2);
    request = fixture_find(f, 'B', 2);
    token = request->token;
    g_assert_cmpuint(fixture_request(f, 'B', "n", "steal key=8"), ==, 2);
    g_assert_cmpuint(request->token, ==, token);
    assert_effects(f, "stolen A1, granted B2");
}

static void
test_key_range(CoreFixture *f, gconstpointer data)
{
    g_assert_cmpuint(fixture_request(f, 'A', "a", "key=18446744073709551615"), ==, 1);
    g_assert_cmpuint(fixture_request(f, 'A', "b", "key=4294967296"), ==, 2);
    g_assert_cmpuint(fixture_request(f, 'A', "c", "key=1"), ==, 3);
    g_assert_cmpuint(fixture_request(f, 'A', "a", "key=18446744073709551615"), ==, 1);
    g_assert_cmpuint(fixture_request(f, 'A', "b", "key=4294967296"), ==, 2);
    /* A request that isn't available doesn't use up its key. */
    g_assert_cmpint(fixture_try(f, 'B', "a", "ifAvailable key=2", NULL), ==,
                    LOCK_RESULT_UNAVAILABLE);
    g_assert_cmpuint(fixture_request(f, 'B', "d", "key=2"), ==, 1);
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

/* Each granted lock has a token, in the order of the grants; a pending request has none. */
static void
test_tokens_of_grants(CoreFixture *f, gconstpointer data)
{
    guint64 first;

    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "shared");
    first = fixture_find(f, 'A', 1)->token;
    g_assert_cmpuint(fixture_find(f, 'B', 1)->token, ==, 0);
    fixture_release(f, 'A', 1);
    g_assert_cmpuint(fixture_find(f, 'B', 1)->token, ==, first + 1);
    g_assert_cmpuint(fixture_find(f, 'C', 1)->token, ==, first + 2);
    fixture_request(f, 'D', "n", "steal");
    g_assert_cmpuint(fixture_find(f, 'D', 1)->token, ==, first + 3);
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

/* After a million names the memory in use is what it was before. */
static void
test_million_names(CoreFixture *f, gconstpointer data)
{
    struct mallinfo2 before, after;
    guint n_names = fixture_get_size(1000000);
    char name[32];

    before = mallinfo2();
    for (guint i = 0; i < n_names; i++) {
        g_snprintf(name, sizeof name, "name-%u", i);
        g_assert_cmpint(fixture_release(f, 'A', fixture_request(f, 'A', name, "")), ==,
                        LOCK_RESULT_OK);
        if (i % 2 == 0)
            effects_clear(&f->user_agent.effects);
    }
    effects_clear(&f->user_agent.effects);
    g_assert_null(lock_manager_find(fixture_agent(f, 'A')->principal, FIXTURE_BUCKET));
    g_assert_cmpuint(user_agent_get_n_requests(&f->user_agent), ==, 0);
    after = mallinfo2();
    g_test_message("in use: %zu bytes before, %zu after", before.uordblks, after.uordblks);
    g_assert_cmpuint(after.uordblks, <, before.uordblks + 100000);
}

/* The same with all names at the same time. */
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

/* ---- break */

static guint32
break_locks(CoreFixture *f, const char *name, const char *client_id, guint64 id)
{
    g_autoptr(LockManager) manager = fixture_manager(f, 'A', FIXTURE_BUCKET);
    const InspectFilter filter = {
        .name = name,
        .client_id = client_id,
        .by_id = id != 0,
        .id = id,
        .by_state = TRUE,
        .state = LOCK_REQUEST_HELD,
    };

    return lock_manager_break(manager, &filter);
}

/* The other locks of the name remain held; a waiting request is granted only if it is grantable. */
static void
test_break_one(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "shared");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'B', "n", "shared");
    fixture_request(f, 'C', "n", "");
    assert_effects(f, "granted A1, granted B1, granted B2, waits C1");
    g_assert_cmpuint(break_locks(f, "n", "B", 2), ==, 1);
    assert_effects(f, "stolen B2");
    g_assert_cmpuint(break_locks(f, "n", "B", 0), ==, 1);
    assert_effects(f, "stolen B1");
    g_assert_cmpuint(break_locks(f, "n", "A", 0), ==, 1);
    assert_effects(f, "stolen A1, granted C1");
}

static void
test_break_nothing(CoreFixture *f, gconstpointer data)
{
    g_assert_cmpuint(break_locks(f, "n", NULL, 0), ==, 0);
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "");
    assert_effects(f, "granted A1, waits B1");
    g_assert_cmpuint(break_locks(f, "m", NULL, 0), ==, 0);
    g_assert_cmpuint(break_locks(f, "", NULL, 0), ==, 0);
    g_assert_cmpuint(break_locks(f, "n", "B", 0), ==, 0); /* waits */
    g_assert_cmpuint(break_locks(f, "n", "A", 7), ==, 0);
    g_assert_cmpuint(break_locks(f, "n", "X", 1), ==, 0);
    assert_effects(f, "");
    assert_state(f, "n X A1 | n X B1");
}

static void
test_check_name(CoreFixture *f, gconstpointer data)
{
    const Limits *limits = &f->user_agent.limits;
    g_autofree char *longest = g_strnfill(limits->max[LIMIT_NAME_BYTES], 'x');
    g_autofree char *too_long = g_strconcat(longest, "x", NULL);

    g_assert_cmpint(lock_name_check("", limits), ==, LOCK_RESULT_OK);
    g_assert_cmpint(lock_name_check(longest, limits), ==, LOCK_RESULT_OK);
    g_assert_cmpint(lock_name_check("-n", limits), ==, LOCK_RESULT_NAME_RESERVED);
    g_assert_cmpint(lock_name_check(too_long, limits), ==, lock_result_limit(LIMIT_NAME_BYTES));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    FIXTURE_TEST("/lock-manager/bad-options", test_bad_options);
    FIXTURE_TEST("/lock-manager/names", test_names);
    FIXTURE_TEST("/lock-manager/many-steals", test_many_steals);
    FIXTURE_TEST("/lock-manager/key-repeats", test_key_repeats);
    FIXTURE_TEST("/lock-manager/key-range", test_key_range);
    FIXTURE_TEST("/lock-manager/tokens-grow", test_tokens_grow);
    FIXTURE_TEST("/lock-manager/tokens-of-grants", test_tokens_of_grants);
    FIXTURE_TEST("/lock-manager/tokens-per-bucket", test_tokens_per_bucket);
    FIXTURE_TEST("/lock-manager/break-one", test_break_one);
    FIXTURE_TEST("/lock-manager/break-nothing", test_break_nothing);
    FIXTURE_TEST("/lock-manager/check-name", test_check_name);
    FIXTURE_TEST("/lock-manager/million-names", test_million_names);
    FIXTURE_TEST("/lock-manager/many-names-at-once", test_many_names_at_once);
    return g_test_run();
}
