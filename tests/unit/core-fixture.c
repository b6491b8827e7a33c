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

static const char *const effect_words[N_EFFECT_KINDS] = {
    [EFFECT_GRANTED] = "granted",    [EFFECT_RELEASED] = "released",
    [EFFECT_ABORTED] = "aborted",    [EFFECT_STOLEN] = "stolen",
    [EFFECT_TIMED_OUT] = "timedout", [EFFECT_TERMINATED] = "terminated",
    [EFFECT_LOST] = "lost",          [EFFECT_UNAVAILABLE] = "unavailable",
    [EFFECT_WAITING] = "waits",      [EFFECT_DOWNGRADED] = "downgraded",
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

static const char *
parse_option(LockOptions *options, const char *word)
{
    const char *value = strchr(word, '=');

    value = value != NULL ? value + 1 : word;
    if (g_str_equal(word, "shared"))
        options->mode = LOCK_MODE_SHARED;
    else if (g_str_equal(word, "steal"))
        options->steal = TRUE;
    else if (g_str_equal(word, "ifAvailable"))
        options->if_available = TRUE;
    else if (g_str_has_prefix(word, "slots="))
        options->slots = (guint32)g_ascii_strtoull(value, NULL, 10);
    else if (g_str_has_prefix(word, "key="))
        options->key = g_ascii_strtoull(value, NULL, 10);
    else if (g_str_has_prefix(word, "timeout="))
        options->timeout_ms = (guint32)g_ascii_strtoull(value, NULL, 10);
    else if (g_str_has_prefix(word, "bucket="))
        return value;
    else
        g_assert_cmpstr(word, ==, "");
    return NULL;
}

LockResult
fixture_try(
    CoreFixture *fixture, char letter, const char *name, const char *options_text, guint64 *out_id)
{
    g_auto(GStrv) words = g_strsplit(options_text, " ", -1);
    g_autoptr(LockManager) manager = NULL;
    LockOptions options = {.why = ""};
    const char *bucket = FIXTURE_BUCKET;
    LockRequest *request = NULL;
    LockResult result;

    for (guint i = 0; words[i] != NULL; i++) {
        const char *given = parse_option(&options, words[i]);

        bucket = given != NULL ? given : bucket;
    }
    manager = fixture_manager(fixture, letter, bucket);
    result =
        lock_manager_request(manager, fixture_agent(fixture, letter), name, &options, &request);
    *out_id = request != NULL ? request->id : 0;
    return result;
}

guint64
fixture_request(CoreFixture *fixture, char letter, const char *name, const char *options_text)
{
    guint64 id;
    LockResult result = fixture_try(fixture, letter, name, options_text, &id);

    g_assert_cmpint(result, ==, LOCK_RESULT_OK);
    g_assert_cmpuint(id, !=, 0);
    return id;
}

LockRequest *
fixture_find(const CoreFixture *fixture, char letter, guint64 id)
{
    LockRequest *request = agent_find_request(fixture_agent(fixture, letter), id);

    g_assert_nonnull(request);
    return request;
}

LockResult
fixture_release_in(CoreFixture *fixture, char letter, const char *bucket, guint64 id)
{
    g_autoptr(LockManager) manager = fixture_manager(fixture, letter, bucket);

    return lock_manager_release(manager, fixture_agent(fixture, letter), id);
}

LockResult
fixture_release(CoreFixture *fixture, char letter, guint64 id)
{
    return fixture_release_in(fixture, letter, FIXTURE_BUCKET, id);
}

void
fixture_advance_us(CoreFixture *fixture, gint64 us)
{
    UserAgent *user_agent = &fixture->user_agent;

    user_agent_set_time(user_agent, user_agent->now_us + us, user_agent->realtime_us + us);
}

void
fixture_expire_after_ms(CoreFixture *fixture, gint64 ms)
{
    fixture_advance_us(fixture, ms * 1000);
    user_agent_expire(&fixture->user_agent);
}

char *
fixture_take_effects(CoreFixture *fixture)
{
    Effects *effects = &fixture->user_agent.effects;
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < effects_get_length(effects); i++) {
        const Effect *effect = effects_get(effects, i);

        g_string_append_printf(text, "%s%s %s%" G_GUINT64_FORMAT, i > 0 ? ", " : "",
                               effect_words[effect->kind], effect->request->agent->client_id,
                               effect->request->id);
    }
    effects_clear(effects);
    return g_string_free(text, FALSE);
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
