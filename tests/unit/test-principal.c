/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* core/principal: who is the same as whom, and how long a principal is there. */

#include "tests/unit/core-fixture.h"

static const PrincipalIdentity different[] = {
    {1000, PRINCIPAL_UNSANDBOXED, ""},
    {1001, PRINCIPAL_UNSANDBOXED, ""},
    {1000, PRINCIPAL_FLATPAK, "org.example.App"},
    {1000, PRINCIPAL_SNAP, "org.example.App"},
    {1000, PRINCIPAL_FLATPAK, "org.example.app"},
    {1001, PRINCIPAL_FLATPAK, "org.example.App"},
    {1000, PRINCIPAL_FLATPAK, ""},
    {0, PRINCIPAL_UNSANDBOXED, ""},
    {G_MAXUINT32, PRINCIPAL_UNSANDBOXED, ""},
};

static void
test_identity(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(different); i++) {
        g_autofree char *app_id = g_strdup(different[i].app_id);
        PrincipalIdentity copy = different[i];

        copy.app_id = app_id;
        g_assert_true(principal_identity_equal(&copy, &different[i]));
        g_assert_cmpuint(principal_identity_hash(&copy), ==,
                         principal_identity_hash(&different[i]));
        for (guint k = 0; k < i; k++)
            g_assert_false(principal_identity_equal(&different[i], &different[k]));
    }
}

static void
test_one_each(void)
{
    Principal *principals[G_N_ELEMENTS(different)];
    UserAgent user_agent;
    Limits limits;

    limits_init(&limits);
    user_agent_init(&user_agent, &limits);
    for (guint i = 0; i < G_N_ELEMENTS(different); i++) {
        principals[i] = principal_get(&user_agent, &different[i]);
        g_assert_true(principals[i]->identity.app_id != different[i].app_id);
        for (guint k = 0; k < i; k++)
            g_assert_true(principals[i] != principals[k]);
    }
    for (guint i = 0; i < G_N_ELEMENTS(different); i++) {
        Principal *again = principal_get(&user_agent, &different[i]);

        g_assert_true(again == principals[i]);
        g_assert_cmpuint(again->account->uid, ==, different[i].uid);
        principal_unref(again);
    }

    /* Sandbox or not, it is the same user who pays. */
    g_assert_true(principals[0]->account == principals[2]->account);
    g_assert_true(principals[0]->account != principals[1]->account);

    for (guint i = 0; i < G_N_ELEMENTS(different); i++)
        principal_unref(principals[i]);
    g_assert_cmpuint(g_hash_table_size(user_agent.principals), ==, 0);
    g_assert_cmpuint(g_hash_table_size(user_agent.accounts), ==, 0);
    user_agent_fini(&user_agent);
}

/* One name, three principals: each has it to itself. */
static void
test_apart(CoreFixture *f, gconstpointer data)
{
    fixture_request(f, 'A', "n", "");
    fixture_request(f, 'E', "n", "");
    fixture_request(f, 'F', "n", "");
    assert_effects(f, "granted A1, granted E1, granted F1");
    assert_state_of(f, 'A', FIXTURE_BUCKET, "n X A1 | -");
    assert_state_of(f, 'E', FIXTURE_BUCKET, "n X E1 | -");
    assert_state_of(f, 'F', FIXTURE_BUCKET, "n X F1 | -");

    fixture_request(f, 'F', "n", "steal");
    assert_effects(f, "stolen F1, granted F2");
    assert_state(f, "n X A1 | -");
}

/* It lives as long as an effect tells of it. */
static void
test_lifetime(CoreFixture *f, gconstpointer data)
{
    GHashTable *principals = f->user_agent.principals;

    g_assert_cmpuint(g_hash_table_size(principals), ==, 3);
    fixture_request(f, 'F', "n", "");
    fixture_terminate(f, 'F');
    g_assert_cmpuint(g_hash_table_size(principals), ==, 3);
    assert_effects(f, "granted F1, terminated F1");
    g_assert_cmpuint(g_hash_table_size(principals), ==, 2);
    g_assert_cmpuint(g_hash_table_size(f->user_agent.accounts), ==, 1);

    g_assert_cmpint(fixture_new_agent(f, 'F'), ==, LOCK_RESULT_OK);
    g_assert_cmpuint(g_hash_table_size(principals), ==, 3);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/principal/identity", test_identity);
    g_test_add_func("/principal/one-each", test_one_each);
    FIXTURE_TEST("/principal/apart", test_apart);
    FIXTURE_TEST("/principal/lifetime", test_lifetime);
    return g_test_run();
}
