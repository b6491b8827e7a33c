/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/principal: equality of identities, and what is visible to others. */

#include <string.h>

#include "tests/lib/case.h"
#include "tests/unit/core-fixture.h"

/* Ids chosen to be confused with others, of few characters so that some occur twice. */
static char *
random_app_id(void)
{
    const char *parts[] = {"",  ".", "..",       "/",    "a", "b",  "ab",    "1000",
                           "1", "-", "\xc3\xa4", "\x10", ":", "\n", "snap.", "org.example.App"};
    GString *id = g_string_new(NULL);

    for (gint n = g_test_rand_int_range(0, 5); n > 0; n--)
        g_string_append(id, parts[g_test_rand_int_range(0, G_N_ELEMENTS(parts))]);
    return g_string_free(id, FALSE);
}

/* Two identities have one principal exactly if all fields are equal: checked by sorting,
 * independent of the hash table. */
static int
compare_identities(gconstpointer a, gconstpointer b)
{
    const PrincipalIdentity *x = &(*(Principal *const *)a)->identity;
    const PrincipalIdentity *y = &(*(Principal *const *)b)->identity;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return strcmp(x->app_id, y->app_id);
}

TEST("/principal/injective", test_injective)
{
    const guint n = 10000;
    g_autoptr(GPtrArray) principals = g_ptr_array_new();
    guint n_same = 0;
    UserAgent user_agent;
    Limits limits;

    limits_init(&limits);
    user_agent_init(&user_agent, &limits);
    for (guint i = 0; i < n; i++) {
        g_autofree char *app_id = random_app_id();
        const guint32 uids[] = {0, 1, 10, 1000, 4000000000, G_MAXUINT32 - 1};
        const PrincipalIdentity identity = {
            .uid = uids[g_test_rand_int_range(0, G_N_ELEMENTS(uids))],
            .kind = (PrincipalKind)g_test_rand_int_range(0, PRINCIPAL_SNAP + 1),
            .app_id = app_id,
        };
        Principal *principal = principal_get(&user_agent, &identity);

        g_assert_cmpuint(principal->identity.uid, ==, identity.uid);
        g_assert_cmpint(principal->identity.kind, ==, identity.kind);
        g_assert_cmpstr(principal->identity.app_id, ==, identity.app_id);
        g_ptr_array_add(principals, principal);
    }
    g_ptr_array_sort(principals, compare_identities);
    for (guint i = 1; i < n; i++) {
        gboolean is_same = principals->pdata[i - 1] == principals->pdata[i];

        g_assert_cmpint(is_same, ==,
                        compare_identities(&principals->pdata[i - 1], &principals->pdata[i]) == 0);
        n_same += is_same;
    }
    g_assert_cmpuint(n_same, >, 0);
    g_assert_cmpuint(g_hash_table_size(user_agent.principals), ==, n - n_same);
    for (guint i = 0; i < n; i++)
        principal_unref(principals->pdata[i]);
    g_assert_cmpuint(g_hash_table_size(user_agent.principals), ==, 0);
    user_agent_fini(&user_agent);
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

/* What others do is not visible in tokens, also if they are faster than the clock, as long as they
 * are connected. */
static void
test_tokens_of_quick_others(CoreFixture *f, gconstpointer data)
{
    guint64 id = fixture_request(f, 'A', "n", "");
    guint64 token = fixture_find(f, 'A', id)->token;

    for (guint i = 0; i < 1000; i++)
        fixture_request(f, 'F', "n", "steal");
    fixture_release(f, 'F', 1000);
    effects_clear(&f->user_agent.effects);
    id = fixture_request(f, 'B', "n", "bucket=b");
    g_assert_cmpuint(fixture_find(f, 'B', id)->token, ==, token);

    /* The clock is advanced, so that their tokens don't start at the same time. */
    fixture_terminate(f, 'F');
    effects_clear(&f->user_agent.effects);
    g_assert_cmpint(fixture_new_agent(f, 'F'), ==, LOCK_RESULT_OK);
    id = fixture_request(f, 'F', "n", "");
    g_assert_cmpuint(fixture_find(f, 'F', id)->token, ==, token + 1000);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    test_cases_add();
    FIXTURE_TEST("/principal/scope", test_scope);
    FIXTURE_TEST("/principal/tokens-of-quick-others", test_tokens_of_quick_others);
    return g_test_run();
}
