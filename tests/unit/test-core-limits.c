/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/core-limits, and the accounts of core/principal: each limit at its value and one beyond, and
 * sums. What is charged and discharged with which operation is in test-random. */

#include "tests/lib/case.h"
#include "tests/unit/core-fixture.h"

TEST("/limits/table", test_table)
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

TEST("/limits/set-from-string", test_set_from_string)
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

/* For each kind and scope, with limits of 1, the greatest that can be set and the greatest
 * possible: the last within the limit is admitted, the first beyond it is not. Charges of restored
 * objects may exceed it. */
static void
test_at_each_limit(Tree *tree, gconstpointer data)
{
    static const guint32 values[] = {1, 2, 3, 1000, G_MAXINT32 - 1, G_MAXINT32, G_MAXUINT32};
    static const LimitId ids[N_CHARGES][N_SCOPES] = {
        {LIMIT_CLIENTS_PER_APP, LIMIT_CLIENTS_PER_UID, LIMIT_CLIENTS_TOTAL},
        {LIMIT_REQUESTS_PER_APP, LIMIT_REQUESTS_PER_UID, LIMIT_REQUESTS_TOTAL},
        {LIMIT_TEXT_BYTES_PER_APP, LIMIT_TEXT_BYTES_PER_UID, LIMIT_TEXT_BYTES_TOTAL},
        {LIMIT_WATCHES_PER_APP, LIMIT_WATCHES_PER_UID, LIMIT_WATCHES_TOTAL},
        {LIMIT_REQUESTS_PER_APP, LIMIT_REQUESTS_PER_UID, LIMIT_REQUESTS_TOTAL},
    };

    for (guint kind = 0; kind < N_CHARGES; kind++)
        for (guint scope = 0; scope < N_SCOPES; scope++)
            for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
                LimitsAccount *const accounts[] = {&tree->app, &tree->uid, &tree->total};
                LimitId id = ids[kind][scope];
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    TREE_TEST("/limits/at-each-limit", test_at_each_limit);
    TREE_TEST("/limits/many-at-once", test_many_at_once);
    TREE_TEST("/limits/never-wraps", test_never_wraps);
    TREE_TEST("/limits/never-below-zero", test_never_below_zero);
    return g_test_run();
}
