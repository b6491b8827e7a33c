/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/unit/core-fixture.h"

static const PrincipalIdentity identities[FIXTURE_AGENTS] = {
    {FIXTURE_UID, PRINCIPAL_UNSANDBOXED, ""},
    {FIXTURE_UID, PRINCIPAL_UNSANDBOXED, ""},
    {FIXTURE_UID, PRINCIPAL_UNSANDBOXED, ""},
    {FIXTURE_UID, PRINCIPAL_UNSANDBOXED, ""},
    {FIXTURE_UID, PRINCIPAL_FLATPAK, "org.example.App"},
    {FIXTURE_OTHER_UID, PRINCIPAL_UNSANDBOXED, ""},
};

void
fixture_set_up(CoreFixture *fixture, gconstpointer data)
{
    Limits limits;

    limits_init(&limits);
    user_agent_init(&fixture->user_agent, &limits);
    user_agent_set_time(&fixture->user_agent, FIXTURE_MONOTONIC_US, FIXTURE_REALTIME_US);
    for (guint i = 0; i < FIXTURE_AGENTS; i++)
        g_assert_cmpint(fixture_new_agent(fixture, (char)('A' + i)), ==, LOCK_RESULT_OK);
}

void
fixture_tear_down(CoreFixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < FIXTURE_AGENTS; i++)
        if (fixture->agents[i] != NULL)
            fixture_terminate(fixture, (char)('A' + i));
    user_agent_fini(&fixture->user_agent);
}

Agent *
fixture_agent(const CoreFixture *fixture, char letter)
{
    Agent *agent = fixture->agents[letter - 'A'];

    g_assert_nonnull(agent);
    return agent;
}

LockResult
fixture_new_agent(CoreFixture *fixture, char letter)
{
    const char client_id[] = {letter, '\0'};
    Principal *principal = principal_get(&fixture->user_agent, &identities[letter - 'A']);
    LockResult result;

    g_assert_null(fixture->agents[letter - 'A']);
    result = agent_new(principal, client_id, &fixture->agents[letter - 'A']);
    principal_unref(principal);
    return result;
}

void
fixture_terminate(CoreFixture *fixture, char letter)
{
    Agent *agent = fixture_agent(fixture, letter);

    fixture->agents[letter - 'A'] = NULL;
    user_agent_terminate(&fixture->user_agent, agent);
    agent_unref(agent);
}

LockManager *
fixture_manager(CoreFixture *fixture, char letter, const char *bucket)
{
    return lock_manager_get(fixture_agent(fixture, letter)->principal, bucket);
}

LockRequest *
fixture_request(CoreFixture *fixture, char letter, const char *bucket, const LockOptions *options)
{
    g_autoptr(LockManager) manager = fixture_manager(fixture, letter, bucket);
    LockRequest *request = NULL;
    LockResult result =
        lock_manager_request(manager, fixture_agent(fixture, letter), "n", options, &request);

    g_assert_cmpint(result, ==, LOCK_RESULT_OK);
    return request;
}

void
fixture_release(CoreFixture *fixture, LockRequest *request)
{
    LockResult result = lock_manager_release(request->queue->manager, request->agent, request->id);

    g_assert_cmpint(result, ==, LOCK_RESULT_OK);
    effects_clear(&fixture->user_agent.effects);
}

void
fixture_advance_us(CoreFixture *fixture, gint64 us)
{
    UserAgent *user_agent = &fixture->user_agent;

    user_agent_set_time(user_agent, user_agent->now_us + us, user_agent->realtime_us + us);
}

guint32
fixture_get_seed(void)
{
    const char *text = g_getenv("WEBLOCKS_TEST_SEED");
    guint32 seed =
        text != NULL ? (guint32)g_ascii_strtoull(text, NULL, 10) : (guint32)g_test_rand_int();

    g_test_message("WEBLOCKS_TEST_SEED=%u", seed);
    return seed;
}

static gboolean
is_set(const char *variable)
{
    const char *text = g_getenv(variable);

    return text != NULL && !g_str_equal(text, "0");
}

guint
fixture_get_size(guint quick, guint with_all, guint full)
{
    guint size = is_set("WEBLOCKS_FULL_SIZE")  ? full
                 : is_set("WEBLOCKS_TEST_ALL") ? with_all
                                               : quick;

    return g_getenv("WEBLOCKS_TEST_SLOW") != NULL ? MAX(size / 20, 1) : size;
}
