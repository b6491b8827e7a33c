/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/limits: each limit at its value and one beyond, and given back on every path.
 */

#include "tests/unit/core-fixture.h"

static void
test_table(void)
{
    Limits limits;

    limits_init(&limits);
    for (guint i = 0; i < N_LIMITS; i++) {
        g_assert_nonnull(limits_table[i].name);
        g_assert_cmpuint(limits_table[i].default_value, >, 0);
        g_assert_cmpuint(limits.max[i], ==, limits_table[i].default_value);
        g_assert_cmpint(lock_result_limit((LimitId)i), >=, LOCK_RESULT_LIMIT);
        g_assert_cmpint(lock_result_limit((LimitId)i), <, LOCK_RESULT_COUNT);
        for (guint k = 0; k < i; k++)
            g_assert_cmpstr(limits_table[i].name, !=, limits_table[k].name);
    }
}

static void
test_set_from_string(void)
{
    static const char *const wrong[] = {
        "",
        "=",
        "=5",
        "nameBytes",
        "nameBytes=",
        "nameBytes=0",
        "nameBytes=-1",
        "nameBytes=+1",
        "nameBytes= 1",
        "nameBytes=1 ",
        "nameBytes=0x10",
        "nameBytes=1=1",
        "nameBytes=2147483648",
        "nameBytes=99999999999999999999",
        "namebytes=1",
        "nameByte=1",
        "nameBytess=1",
        " nameBytes=1",
        "other=1",
    };
    Limits limits, before;

    limits_init(&limits);
    before = limits;
    for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_assert_false(limits_set_from_string(&limits, wrong[i]));
        g_assert_cmpmem(&limits, sizeof limits, &before, sizeof before);
    }

    for (guint i = 0; i < N_LIMITS; i++) {
        g_autofree char *least = g_strdup_printf("%s=1", limits_table[i].name);
        g_autofree char *most = g_strdup_printf("%s=2147483647", limits_table[i].name);

        g_assert_true(limits_set_from_string(&limits, least));
        g_assert_cmpuint(limits.max[i], ==, 1);
        g_assert_true(limits_set_from_string(&limits, most));
        g_assert_cmpuint(limits.max[i], ==, 2147483647);
        limits.max[i] = before.max[i];
        g_assert_cmpmem(&limits, sizeof limits, &before, sizeof before);
    }
}

static void
test_account(void)
{
    g_autoptr(GHashTable) accounts = g_hash_table_new(g_direct_hash, g_direct_equal);
    LimitsAccount *root = limits_account_get(accounts, 0);
    LimitsAccount *nobody = limits_account_get(accounts, G_MAXUINT32);

    g_assert_true(root != nobody);
    g_assert_true(limits_account_get(accounts, 0) == root);
    limits_account_unref(root);
    g_assert_true(limits_account_ref(root) == root);
    limits_account_unref(root);
    g_assert_cmpuint(g_hash_table_size(accounts), ==, 2);
    limits_account_unref(root);
    limits_account_unref(nobody);
    g_assert_cmpuint(g_hash_table_size(accounts), ==, 0);
}

/* Bytes, not characters. */
static void
test_name_bytes(CoreFixture *f, gconstpointer data)
{
    g_autofree char *longest = g_strnfill(1024, 'x');
    g_autofree char *too_long = g_strnfill(1025, 'x');
    g_autoptr(GString) umlauts = g_string_new(NULL);

    for (guint i = 0; i < 512; i++)
        g_string_append(umlauts, "\xc3\xa4");
    fixture_request(f, 'A', longest, "");
    fixture_request(f, 'A', umlauts->str, "");
    g_string_append_c(umlauts, 'a');
    effects_clear(&f->user_agent.effects);

    g_assert_cmpint(fixture_try(f, 'A', too_long, "", NULL), ==,
                    lock_result_limit(LIMIT_NAME_BYTES));
    g_assert_cmpint(fixture_try(f, 'A', umlauts->str, "steal", NULL), ==,
                    lock_result_limit(LIMIT_NAME_BYTES));
    assert_effects(f, "");
    g_assert_cmpuint(f->user_agent.n_requests, ==, 2);
}

static void
test_why_bytes(CoreFixture *f, gconstpointer data)
{
    g_autofree char *why = g_strnfill(256, 'w');
    g_autofree char *longest = g_strdup_printf("why=%s", why);
    g_autofree char *too_long = g_strdup_printf("why=%sw", why);

    fixture_request(f, 'A', "n", longest);
    g_assert_cmpstr(fixture_find(f, 'A', 1)->why, ==, why);
    g_assert_cmpint(fixture_try(f, 'A', "m", too_long, NULL), ==,
                    lock_result_limit(LIMIT_WHY_BYTES));
    assert_effects(f, "granted A1");
}

/* Fills A to three requests of three, one of them waiting. */
static void
fill_client(CoreFixture *f)
{
    f->user_agent.limits.max[LIMIT_REQUESTS_PER_CLIENT] = 3;
    fixture_request(f, 'B', "n", "");
    fixture_request(f, 'A', "h", "");
    fixture_request(f, 'A', "i", "");
    fixture_request(f, 'A', "n", "timeout=50");
}

/* Then there is room for exactly one. */
static void
assert_room_for_one(CoreFixture *f)
{
    fixture_request(f, 'A', "one", "");
    g_assert_cmpint(fixture_try(f, 'A', "more", "", NULL), ==,
                    lock_result_limit(LIMIT_REQUESTS_PER_CLIENT));
    effects_clear(&f->user_agent.effects);
}

static void
test_per_client(CoreFixture *f, gconstpointer data)
{
    fill_client(f);
    effects_clear(&f->user_agent.effects);
    for (guint i = 0; i < 3; i++) {
        static const char *const options[] = {"", "ifAvailable", "steal"};

        g_assert_cmpint(fixture_try(f, 'A', "more", options[i], NULL), ==,
                        lock_result_limit(LIMIT_REQUESTS_PER_CLIENT));
    }
    assert_effects(f, "");
    g_assert_null(fixture_find_queue(f, 'A', "more"));

    /* The same client's other bucket counts too, the other clients don't. */
    g_assert_cmpint(fixture_try(f, 'A', "more", "bucket=b", NULL), ==,
                    lock_result_limit(LIMIT_REQUESTS_PER_CLIENT));
    fixture_request(f, 'C', "more", "");
    fixture_request(f, 'F', "more", "");
}

static void
test_room_after_release(CoreFixture *f, gconstpointer data)
{
    fill_client(f);
    fixture_release(f, 'A', 1);
    assert_room_for_one(f);
}

static void
test_room_after_abort(CoreFixture *f, gconstpointer data)
{
    fill_client(f);
    fixture_abort(f, 'A', 3);
    assert_room_for_one(f);
}

static void
test_room_after_steal(CoreFixture *f, gconstpointer data)
{
    fill_client(f);
    fixture_request(f, 'B', "h", "steal");
    assert_room_for_one(f);
}

static void
test_room_after_timeout(CoreFixture *f, gconstpointer data)
{
    fill_client(f);
    fixture_expire_after_ms(f, 50);
    assert_room_for_one(f);
}

/* A grant is no second request. */
static void
test_no_room_after_grant(CoreFixture *f, gconstpointer data)
{
    fill_client(f);
    fixture_release(f, 'B', 1);
    g_assert_cmpint(fixture_try(f, 'A', "more", "", NULL), ==,
                    lock_result_limit(LIMIT_REQUESTS_PER_CLIENT));
}

static void
test_unavailable_is_free(CoreFixture *f, gconstpointer data)
{
    f->user_agent.limits.max[LIMIT_REQUESTS_PER_CLIENT] = 1;
    fixture_request(f, 'B', "n", "");
    for (guint i = 0; i < 5; i++)
        g_assert_cmpint(fixture_try(f, 'A', "n", "ifAvailable", NULL), ==, LOCK_RESULT_UNAVAILABLE);
    fixture_request(f, 'A', "n", "");
}

/* A repeated call asks for nothing new, so no limit is in its way. */
static void
test_repeats_are_free(CoreFixture *f, gconstpointer data)
{
    fill_client(f);
    fixture_release(f, 'A', 2);
    g_assert_cmpuint(fixture_request(f, 'A', "k", "key=7"), ==, 4);
    f->user_agent.limits.max[LIMIT_REQUESTS_PER_UID] = 1;
    f->user_agent.limits.max[LIMIT_REQUESTS_TOTAL] = 1;
    f->user_agent.limits.max[LIMIT_NAME_BYTES] = 0;
    for (guint i = 0; i < 100; i++)
        g_assert_cmpuint(fixture_request(f, 'A', "k", "key=7"), ==, 4);
    g_assert_cmpuint(f->user_agent.n_requests, ==, 4);
}

static void
test_per_uid(CoreFixture *f, gconstpointer data)
{
    LimitsAccount *account = fixture_agent(f, 'A')->principal->account;
    const LockResult full = lock_result_limit(LIMIT_REQUESTS_PER_UID);

    f->user_agent.limits.max[LIMIT_REQUESTS_PER_UID] = 5;
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "shared timeout=50");
    fixture_request(f, 'C', "n", "shared");
    fixture_request(f, 'E', "n", "");
    fixture_request(f, 'E', "n", "bucket=b");
    g_assert_cmpuint(account->n_requests, ==, 5);
    g_assert_cmpint(fixture_try(f, 'D', "m", "", NULL), ==, full);
    g_assert_cmpint(fixture_try(f, 'E', "m", "", NULL), ==, full);
    for (guint i = 0; i < 5; i++)
        fixture_request(f, 'F', "n", "");
    g_assert_cmpint(fixture_try(f, 'F', "n", "", NULL), ==, full);

    fixture_expire_after_ms(f, 50);
    g_assert_cmpuint(account->n_requests, ==, 4);
    fixture_request(f, 'D', "m", "");
    g_assert_cmpint(fixture_try(f, 'D', "more", "", NULL), ==, full);

    /* The dead give back all they had. */
    fixture_terminate(f, 'E');
    g_assert_cmpuint(account->n_requests, ==, 3);
    fixture_terminate(f, 'C');
    g_assert_cmpuint(account->n_requests, ==, 2);
    fixture_request(f, 'D', "more", "");
    fixture_request(f, 'A', "m", "");
    fixture_request(f, 'B', "m", "");
    g_assert_cmpint(fixture_try(f, 'D', "evenmore", "", NULL), ==, full);
    fixture_release(f, 'A', 1);
    fixture_abort(f, 'A', 2);
    g_assert_cmpuint(account->n_requests, ==, 3);
}

static void
test_total(CoreFixture *f, gconstpointer data)
{
    const LockResult full = lock_result_limit(LIMIT_REQUESTS_TOTAL);

    f->user_agent.limits.max[LIMIT_REQUESTS_TOTAL] = 3;
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'E', "n", "");
    fixture_request(f, 'F', "n", "");
    g_assert_cmpint(fixture_try(f, 'A', "m", "", NULL), ==, full);
    g_assert_cmpint(fixture_try(f, 'F', "m", "", NULL), ==, full);
    fixture_terminate(f, 'F');
    g_assert_cmpuint(f->user_agent.n_requests, ==, 2);
    fixture_request(f, 'A', "m", "");
    g_assert_cmpint(fixture_try(f, 'E', "m", "", NULL), ==, full);
}

/* The nearest limit is the one that is told. */
static void
test_order_of_checks(CoreFixture *f, gconstpointer data)
{
    guint32 *max = f->user_agent.limits.max;

    fixture_request(f, 'A', "n", "");
    max[LIMIT_REQUESTS_TOTAL] = 1;
    g_assert_cmpint(fixture_try(f, 'A', "mm", "why=ww", NULL), ==,
                    lock_result_limit(LIMIT_REQUESTS_TOTAL));
    max[LIMIT_REQUESTS_PER_UID] = 1;
    g_assert_cmpint(fixture_try(f, 'A', "mm", "why=ww", NULL), ==,
                    lock_result_limit(LIMIT_REQUESTS_PER_UID));
    max[LIMIT_REQUESTS_PER_CLIENT] = 1;
    g_assert_cmpint(fixture_try(f, 'A', "mm", "why=ww", NULL), ==,
                    lock_result_limit(LIMIT_REQUESTS_PER_CLIENT));
    max[LIMIT_WHY_BYTES] = 1;
    g_assert_cmpint(fixture_try(f, 'A', "mm", "why=ww", NULL), ==,
                    lock_result_limit(LIMIT_WHY_BYTES));
    max[LIMIT_NAME_BYTES] = 1;
    g_assert_cmpint(fixture_try(f, 'A', "mm", "why=ww", NULL), ==,
                    lock_result_limit(LIMIT_NAME_BYTES));
    g_assert_cmpint(fixture_try(f, 'A', "-m", "why=ww", NULL), ==, LOCK_RESULT_NAME_RESERVED);
}

static void
test_lost_gives_back(CoreFixture *f, gconstpointer data)
{
    LimitsAccount *account = fixture_agent(f, 'A')->principal->account;

    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=5");
    g_assert_cmpuint(account->n_requests, ==, 2);
    user_agent_shut_down(&f->user_agent);
    user_agent_lose(&f->user_agent, fixture_agent(f, 'A'));
    user_agent_lose(&f->user_agent, fixture_agent(f, 'B'));
    g_assert_cmpuint(account->n_requests, ==, 0);
    g_assert_cmpuint(f->user_agent.n_requests, ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/limits/table", test_table);
    g_test_add_func("/limits/set-from-string", test_set_from_string);
    g_test_add_func("/limits/account", test_account);
    FIXTURE_TEST("/limits/name-bytes", test_name_bytes);
    FIXTURE_TEST("/limits/why-bytes", test_why_bytes);
    FIXTURE_TEST("/limits/per-client", test_per_client);
    FIXTURE_TEST("/limits/room-after-release", test_room_after_release);
    FIXTURE_TEST("/limits/room-after-abort", test_room_after_abort);
    FIXTURE_TEST("/limits/room-after-steal", test_room_after_steal);
    FIXTURE_TEST("/limits/room-after-timeout", test_room_after_timeout);
    FIXTURE_TEST("/limits/no-room-after-grant", test_no_room_after_grant);
    FIXTURE_TEST("/limits/unavailable-is-free", test_unavailable_is_free);
    FIXTURE_TEST("/limits/repeats-are-free", test_repeats_are_free);
    FIXTURE_TEST("/limits/per-uid", test_per_uid);
    FIXTURE_TEST("/limits/total", test_total);
    FIXTURE_TEST("/limits/order-of-checks", test_order_of_checks);
    FIXTURE_TEST("/limits/lost-gives-back", test_lost_gives_back);
    return g_test_run();
}
