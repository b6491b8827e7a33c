/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/core-limits, and the accounts of core/principal: each limit at its value and one beyond, and
 * discharged on every path. */

#include "tests/unit/core-fixture.h"

static void
test_table(void)
{
    Limits limits;

    limits_init(&limits);
    for (guint i = 0; i < N_LIMITS; i++) {
        g_assert_nonnull(limit_id_get_name(i));
        g_assert_cmpuint(limits.max[i], >, 0);
        g_assert_cmpint(lock_result_limit((LimitId)i), >=, LOCK_RESULT_LIMIT);
        g_assert_cmpint(lock_result_limit((LimitId)i), <, LOCK_RESULT_COUNT);
        for (guint k = 0; k < i; k++)
            g_assert_cmpstr(limit_id_get_name(i), !=, limit_id_get_name(k));
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
        g_autofree char *least = g_strdup_printf("%s=1", limit_id_get_name(i));
        g_autofree char *most = g_strdup_printf("%s=2147483647", limit_id_get_name(i));

        g_assert_true(limits_set_from_string(&limits, least));
        g_assert_cmpuint(limits.max[i], ==, 1);
        g_assert_true(limits_set_from_string(&limits, most));
        g_assert_cmpuint(limits.max[i], ==, 2147483647);
        limits.max[i] = before.max[i];
        g_assert_cmpmem(&limits, sizeof limits, &before, sizeof before);
    }
}

/* ---- charges */

typedef struct {
    Limits limits;
    LimitsAccount total, uid, other_uid, app, other_app;
} Tree;

static void
tree_set_up(Tree *tree, gconstpointer data)
{
    for (guint i = 0; i < N_LIMITS; i++)
        tree->limits.max[i] = G_MAXINT32;
    tree->total = (LimitsAccount){.scope = SCOPE_TOTAL};
    tree->uid = tree->other_uid = (LimitsAccount){.scope = SCOPE_UID, .parent = &tree->total};
    tree->app = tree->other_app = (LimitsAccount){.scope = SCOPE_APP, .parent = &tree->uid};
}

#define TREE_TEST(path, function) g_test_add(path, Tree, NULL, tree_set_up, function, NULL)

/* The limit that refuses one more; N_LIMITS if none does. */
static LimitId
find_limit(const Tree *tree, const LimitsAccount *account, ChargeKind kind)
{
    LimitId limit = N_LIMITS;

    return limits_admit(&tree->limits, account, kind, 1, &limit) ? N_LIMITS : limit;
}

static void
charge(LimitsAccount *account, ChargeKind kind, guint n)
{
    for (guint i = 0; i < n; i++)
        limits_charge(account, kind, 1);
}

static void
test_charge(Tree *tree, gconstpointer data)
{
    for (guint i = 0; i < N_CHARGES; i++) {
        ChargeKind kind = (ChargeKind)i;

        charge(&tree->app, kind, 2);
        charge(&tree->uid, kind, 3);
        charge(&tree->other_uid, kind, 1);
        g_assert_cmpuint(tree->app.n[kind], ==, 2);
        g_assert_cmpuint(tree->uid.n[kind], ==, 5);
        g_assert_cmpuint(tree->uid.n_sharers[kind], ==, 1);
        g_assert_cmpuint(tree->total.n[kind], ==, 6);
        g_assert_cmpuint(tree->total.n_sharers[kind], ==, 2);
        limits_discharge(&tree->other_uid, kind, 1);
        g_assert_cmpuint(tree->total.n_sharers[kind], ==, 1);
        limits_discharge(&tree->app, kind, 1);
        g_assert_cmpuint(tree->uid.n_sharers[kind], ==, 1);
        limits_discharge(&tree->app, kind, 1);
        g_assert_cmpuint(tree->uid.n_sharers[kind], ==, 0);
        g_assert_cmpuint(tree->total.n[kind], ==, 3);
    }
}

/* For each kind and scope, with limits of 1, the greatest that can be set and the greatest
 * possible: the last within the limit is admitted, the first beyond it is not. Charges of restored
 * objects may exceed it. */
static void
test_at_each_limit(Tree *tree, gconstpointer data)
{
    static const guint32 values[] = {1, 2, 3, 1000, G_MAXINT32 - 1, G_MAXINT32, G_MAXUINT32};

    for (guint kind = 0; kind < N_CHARGES; kind++)
        for (guint scope = 0; scope < N_SCOPES; scope++)
            for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
                LimitsAccount *const accounts[] = {&tree->app, &tree->uid, &tree->total};
                LimitId id = limits_get_id((ChargeKind)kind, (LimitsScope)scope);
                guint32 *n = &accounts[scope]->n[kind];
                LimitsAccount *charged = &tree->app;

                tree->limits.max[id] = values[i];
                *n = values[i];
                g_assert_cmpint(find_limit(tree, charged, (ChargeKind)kind), ==, id);
                *n = values[i] - 1;
                g_assert_cmpint(find_limit(tree, charged, (ChargeKind)kind), ==, N_LIMITS);
                *n = values[i] == G_MAXUINT32 ? G_MAXUINT32 : values[i] + 1;
                g_assert_cmpint(find_limit(tree, charged, (ChargeKind)kind), ==, id);
                *n = G_MAXUINT32;
                g_assert_cmpint(find_limit(tree, charged, (ChargeKind)kind), ==, id);
                *n = 0;
                tree->limits.max[id] = G_MAXINT32;
            }
}

/* Several are charged together or not at all. */
static void
test_many_at_once(Tree *tree, gconstpointer data)
{
    const struct {
        guint32 had, n, max;
        gboolean is_admitted;
    } cases[] = {
        {0, 10, 10, TRUE},
        {0, 11, 10, FALSE},
        {4, 6, 10, TRUE},
        {4, 7, 10, FALSE},
        {11, 1, 10, FALSE},
        {1, G_MAXUINT32, G_MAXUINT32, FALSE},
        {0, G_MAXUINT32, G_MAXUINT32, TRUE},
        {G_MAXUINT32, 1, G_MAXUINT32, FALSE},
        {G_MAXUINT32, G_MAXUINT32, G_MAXINT32, FALSE},
        {G_MAXUINT32 - 5, 5, G_MAXUINT32, TRUE},
        {G_MAXUINT32 - 5, 6, G_MAXUINT32, FALSE},
    };

    tree->limits.max[LIMIT_TEXT_BYTES_TOTAL] = G_MAXUINT32;
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        LimitId limit = N_LIMITS;

        tree->limits.max[LIMIT_TEXT_BYTES_PER_UID] = cases[i].max;
        tree->uid.n[CHARGE_TEXT_BYTE] = cases[i].had;
        g_assert_cmpint(
            limits_admit(&tree->limits, &tree->uid, CHARGE_TEXT_BYTE, cases[i].n, &limit), ==,
            cases[i].is_admitted);
    }

    /* The last quarter begins within the requested number. */
    tree->uid.n[CHARGE_TEXT_BYTE] = 0;
    tree->limits.max[LIMIT_TEXT_BYTES_PER_UID] = 1000;
    tree->limits.max[LIMIT_TEXT_BYTES_TOTAL] = 1000;
    limits_charge(&tree->uid, CHARGE_TEXT_BYTE, 700);
    for (guint n = 1; n <= 300; n++) {
        LimitId limit;

        g_assert_cmpint(limits_admit(&tree->limits, &tree->uid, CHARGE_TEXT_BYTE, n, &limit), ==,
                        n <= 50);
        g_assert_cmpint(limits_admit(&tree->limits, &tree->other_uid, CHARGE_TEXT_BYTE, n, &limit),
                        ==, TRUE);
    }
}

/* A sum that would overflow is a bug: an assertion fails before the sum is wrong. */
static void
test_never_wraps(Tree *tree, gconstpointer data)
{
    tree->app.n[CHARGE_REQUEST] = 1;
    tree->uid.n[CHARGE_REQUEST] = 1;
    tree->total.n[CHARGE_REQUEST] = G_MAXUINT32 - 1;
    limits_charge(&tree->app, CHARGE_REQUEST, 1);
    g_assert_cmpuint(tree->total.n[CHARGE_REQUEST], ==, G_MAXUINT32);
    if (g_test_subprocess())
        limits_charge(&tree->app, CHARGE_REQUEST, 1);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*limits_charge*");
}

static void
test_never_below_zero(Tree *tree, gconstpointer data)
{
    limits_charge(&tree->uid, CHARGE_WATCH, 1);
    if (g_test_subprocess())
        limits_discharge(&tree->app, CHARGE_WATCH, 1);
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*limits_discharge*");
}

/* ---- shares */

/* Three quarters are granted in order of arrival; the last one is shared equally. */
static void
test_share(Tree *tree, gconstpointer data)
{
    const LimitId total = LIMIT_REQUESTS_TOTAL;

    tree->limits.max[total] = 100;
    charge(&tree->uid, CHARGE_REQUEST, 74);
    g_assert_cmpint(find_limit(tree, &tree->uid, CHARGE_REQUEST), ==, N_LIMITS);
    charge(&tree->uid, CHARGE_REQUEST, 1);
    g_assert_cmpint(find_limit(tree, &tree->uid, CHARGE_REQUEST), ==, total);
    g_assert_cmpint(find_limit(tree, &tree->app, CHARGE_REQUEST), ==, total);

    /* The other gets all that is left: less than a third of the total, the equal share of two
     * accounts and a newcomer. */
    for (guint i = 0; i < 25; i++) {
        g_assert_cmpint(find_limit(tree, &tree->other_uid, CHARGE_REQUEST), ==, N_LIMITS);
        charge(&tree->other_uid, CHARGE_REQUEST, 1);
        g_assert_cmpint(find_limit(tree, &tree->uid, CHARGE_REQUEST), ==, total);
    }
    g_assert_cmpint(find_limit(tree, &tree->other_uid, CHARGE_REQUEST), ==, total);

    /* Other kinds are counted separately. */
    g_assert_cmpint(find_limit(tree, &tree->uid, CHARGE_WATCH), ==, N_LIMITS);
}

static void
test_share_grows_small(Tree *tree, gconstpointer data)
{
    LimitsAccount uids[10];
    guint n = 0;

    tree->limits.max[LIMIT_CLIENTS_TOTAL] = 1000;
    charge(&tree->uid, CHARGE_CLIENT, 750);
    for (guint i = 0; i < G_N_ELEMENTS(uids); i++) {
        uids[i] = (LimitsAccount){.scope = SCOPE_UID, .parent = &tree->total};
        while (find_limit(tree, &uids[i], CHARGE_CLIENT) == N_LIMITS)
            charge(&uids[i], CHARGE_CLIENT, 1);
        n += uids[i].n[CHARGE_CLIENT];
    }
    /* The first account's 1000 / 3 are more than what is left. */
    g_assert_cmpuint(uids[0].n[CHARGE_CLIENT], ==, 250);
    g_assert_cmpuint(n, ==, 250);
}

/* With the default limits, one uid always leaves a quarter to another. */
static void
test_share_of_defaults(Tree *tree, gconstpointer data)
{
    limits_init(&tree->limits);
    for (guint i = 0; i < N_CHARGES; i++) {
        ChargeKind kind = (ChargeKind)i;
        guint32 own = tree->limits.max[limits_get_id(kind, SCOPE_UID)];
        guint32 all = tree->limits.max[limits_get_id(kind, SCOPE_TOTAL)];

        /* Also if the limit of one uid is the total. */
        tree->limits.max[limits_get_id(kind, SCOPE_UID)] = all;
        while (find_limit(tree, &tree->uid, kind) == N_LIMITS)
            charge(&tree->uid, kind, 1);
        tree->limits.max[limits_get_id(kind, SCOPE_UID)] = own;
        g_assert_cmpuint(tree->uid.n[kind], ==, all - all / 4);
        for (guint k = 0; k < own / 4; k++) {
            g_assert_cmpint(find_limit(tree, &tree->other_uid, kind), ==, N_LIMITS);
            charge(&tree->other_uid, kind, 1);
        }
    }
}

/* Applications leave a quarter to their user, whose unsandboxed processes the application's limit
 * doesn't apply to. */
static void
test_share_of_app(Tree *tree, gconstpointer data)
{
    tree->limits.max[LIMIT_REQUESTS_PER_UID] = 40;
    tree->limits.max[LIMIT_REQUESTS_PER_APP] = 35;
    charge(&tree->app, CHARGE_REQUEST, 30);
    g_assert_cmpint(find_limit(tree, &tree->app, CHARGE_REQUEST), ==, LIMIT_REQUESTS_PER_UID);
    g_assert_cmpint(find_limit(tree, &tree->other_app, CHARGE_REQUEST), ==, N_LIMITS);
    for (guint i = 0; i < 10; i++) {
        g_assert_cmpint(find_limit(tree, &tree->uid, CHARGE_REQUEST), ==, N_LIMITS);
        charge(&tree->uid, CHARGE_REQUEST, 1);
    }
    g_assert_cmpint(find_limit(tree, &tree->uid, CHARGE_REQUEST), ==, LIMIT_REQUESTS_PER_UID);
    g_assert_cmpint(find_limit(tree, &tree->other_app, CHARGE_REQUEST), ==, LIMIT_REQUESTS_PER_UID);
    g_assert_cmpint(find_limit(tree, &tree->other_uid, CHARGE_REQUEST), ==, N_LIMITS);
}

static void
test_share_of_unsandboxed(Tree *tree, gconstpointer data)
{
    tree->limits.max[LIMIT_REQUESTS_PER_UID] = 40;
    charge(&tree->app, CHARGE_REQUEST, 1);
    for (guint i = 0; i < 39; i++) {
        g_assert_cmpint(find_limit(tree, &tree->uid, CHARGE_REQUEST), ==, N_LIMITS);
        charge(&tree->uid, CHARGE_REQUEST, 1);
    }
}

/* ---- lengths */

/* Lengths are in bytes, not in characters. */
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
    g_assert_cmpuint(user_agent_get_n_requests(&f->user_agent), ==, 2);
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

/* Exactly one more request is admitted. */
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

    /* The client's requests in other buckets count too, those of other clients don't. */
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

/* A grant doesn't count as another request. */
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

/* A call repeated with the same key makes no new request, so no limit refuses it. */
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
    g_assert_cmpuint(user_agent_get_n_requests(&f->user_agent), ==, 4);
}

static void
test_per_uid(CoreFixture *f, gconstpointer data)
{
    LimitsAccount *account = &fixture_agent(f, 'A')->principal->account;
    const LockResult full = lock_result_limit(LIMIT_REQUESTS_PER_UID);

    f->user_agent.limits.max[LIMIT_REQUESTS_PER_UID] = 5;
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "shared timeout=50");
    fixture_request(f, 'C', "n", "shared");
    fixture_request(f, 'E', "n", "");
    fixture_request(f, 'E', "n", "bucket=b");
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 5);
    g_assert_cmpint(fixture_try(f, 'D', "m", "", NULL), ==, full);
    g_assert_cmpint(fixture_try(f, 'E', "m", "", NULL), ==, full);
    for (guint i = 0; i < 5; i++)
        fixture_request(f, 'F', "n", "");
    g_assert_cmpint(fixture_try(f, 'F', "n", "", NULL), ==, full);

    fixture_expire_after_ms(f, 50);
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 4);
    fixture_request(f, 'D', "m", "");
    g_assert_cmpint(fixture_try(f, 'D', "more", "", NULL), ==, full);

    /* Termination discharges everything. */
    fixture_terminate(f, 'E');
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 3);
    fixture_terminate(f, 'C');
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 2);
    fixture_request(f, 'D', "more", "");
    fixture_request(f, 'A', "m", "");
    fixture_request(f, 'B', "m", "");
    g_assert_cmpint(fixture_try(f, 'D', "evenmore", "", NULL), ==, full);
    fixture_release(f, 'A', 1);
    fixture_abort(f, 'A', 2);
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 3);
}

/* The limit of one application of a user applies neither to the unsandboxed processes of the user
 * nor to anything else. */
static void
test_per_app(CoreFixture *f, gconstpointer data)
{
    const LockResult full = lock_result_limit(LIMIT_REQUESTS_PER_APP);

    f->user_agent.limits.max[LIMIT_REQUESTS_PER_APP] = 2;
    fixture_request(f, 'E', "n", "");
    fixture_request(f, 'E', "n", "timeout=50");
    g_assert_cmpint(fixture_try(f, 'E', "m", "", NULL), ==, full);
    for (guint i = 0; i < 3; i++) {
        fixture_request(f, 'A', "n", "");
        fixture_request(f, 'F', "n", "");
    }
    fixture_expire_after_ms(f, 50);
    fixture_request(f, 'E', "m", "");
    g_assert_cmpint(fixture_try(f, 'E', "m", "", NULL), ==, full);
    fixture_terminate(f, 'E');
    effects_clear(&f->user_agent.effects);
    g_assert_cmpint(fixture_new_agent(f, 'E'), ==, LOCK_RESULT_OK);
    fixture_request(f, 'E', "m", "");
}

/* Names, buckets and reasons count together, and are discharged. */
static void
test_text_bytes(CoreFixture *f, gconstpointer data)
{
    const LockResult full = lock_result_limit(LIMIT_TEXT_BYTES_PER_UID);
    LimitsAccount *account = &fixture_agent(f, 'A')->principal->account;

    f->user_agent.limits.max[LIMIT_TEXT_BYTES_PER_UID] = 40;
    fixture_request(f, 'A', "name", "why=because bucket=bucket"); /* 4 + 7 + 6 */
    fixture_request(f, 'A', "name", "bucket=bucket timeout=50");
    fixture_request(f, 'B', "", "");
    g_assert_cmpuint(account->n[CHARGE_TEXT_BYTE], ==, 17 + 10 + 7);
    g_assert_cmpint(fixture_try(f, 'C', "", "", NULL), ==, full);
    g_assert_cmpint(fixture_try(f, 'C', "123456", "bucket=b", NULL), ==, full);
    g_assert_cmpint(fixture_try(f, 'C', "12345", "bucket=b", NULL), ==, LOCK_RESULT_OK);
    g_assert_cmpint(fixture_try(f, 'C', "", "bucket=b", NULL), ==, full);
    fixture_expire_after_ms(f, 50);
    fixture_request(f, 'C', "123", "");
    g_assert_cmpint(fixture_try(f, 'C', "", "bucket=b", NULL), ==, full);
    fixture_terminate(f, 'C');
    fixture_release_in(f, 'A', "bucket", 1);
    fixture_release(f, 'B', 1);
    g_assert_cmpuint(account->n[CHARGE_TEXT_BYTE], ==, 0);
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
    g_assert_cmpuint(user_agent_get_n_requests(&f->user_agent), ==, 2);
    fixture_request(f, 'A', "m", "");
    g_assert_cmpint(fixture_try(f, 'E', "m", "", NULL), ==, full);
}

/* The innermost limit is reported. */
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
    max[LIMIT_REQUESTS_PER_APP] = 1;
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
test_lost_is_discharged(CoreFixture *f, gconstpointer data)
{
    LimitsAccount *account = &fixture_agent(f, 'A')->principal->account;

    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'B', "n", "timeout=5");
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 2);
    user_agent_shut_down(&f->user_agent);
    user_agent_lose(&f->user_agent, fixture_agent(f, 'A'));
    user_agent_lose(&f->user_agent, fixture_agent(f, 'B'));
    g_assert_cmpuint(account->n[CHARGE_REQUEST], ==, 0);
    g_assert_cmpuint(user_agent_get_n_requests(&f->user_agent), ==, 0);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/limits/table", test_table);
    g_test_add_func("/limits/set-from-string", test_set_from_string);
    TREE_TEST("/limits/charge", test_charge);
    TREE_TEST("/limits/at-each-limit", test_at_each_limit);
    TREE_TEST("/limits/many-at-once", test_many_at_once);
    TREE_TEST("/limits/never-wraps", test_never_wraps);
    TREE_TEST("/limits/never-below-zero", test_never_below_zero);
    TREE_TEST("/limits/share", test_share);
    TREE_TEST("/limits/share/grows-small", test_share_grows_small);
    TREE_TEST("/limits/share/of-defaults", test_share_of_defaults);
    TREE_TEST("/limits/share/of-app", test_share_of_app);
    TREE_TEST("/limits/share/of-unsandboxed", test_share_of_unsandboxed);
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
    FIXTURE_TEST("/limits/per-app", test_per_app);
    FIXTURE_TEST("/limits/text-bytes", test_text_bytes);
    FIXTURE_TEST("/limits/total", test_total);
    FIXTURE_TEST("/limits/order-of-checks", test_order_of_checks);
    FIXTURE_TEST("/limits/lost-is-discharged", test_lost_is_discharged);
    return g_test_run();
}
