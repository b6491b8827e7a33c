/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/state/state-world.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "service/documents/opened.h"
#include "service/state/log.h"
#include "service/state/restore.h"

static const PrincipalIdentity identities[WORLD_AGENTS] = {
    {1000, PRINCIPAL_UNSANDBOXED, ""},
    {1000, PRINCIPAL_UNSANDBOXED, ""},
    {1000, PRINCIPAL_UNSANDBOXED, ""},
    {1000, PRINCIPAL_UNSANDBOXED, ""},
    {1000, PRINCIPAL_FLATPAK, "org.example.App"},
    {2000, PRINCIPAL_UNSANDBOXED, ""},
};

/* ---- files */

char *
world_new_directory(void)
{
    const char *base = g_getenv("WEBLOCKS_TEST_DIRECTORY");
    char *directory;

    /* In memory, as the service's runtime directory, if there is such a file system. */
    if (base == NULL)
        base = g_access("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir();
    directory = g_build_filename(base, "weblocks-state-XXXXXX", NULL);
    g_assert_nonnull(g_mkdtemp(directory));
    return directory;
}

void
world_remove_directory(const char *directory)
{
    GDir *dir = g_dir_open(directory, 0, NULL);
    const char *name;

    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(directory, name, NULL);

        g_assert_cmpint(g_remove(path), ==, 0);
    }
    g_dir_close(dir);
    g_assert_cmpint(g_rmdir(directory), ==, 0);
}

char *
world_path(const char *directory, guint8 bus, const char *suffix)
{
    GString *path = g_string_new(directory);

    g_string_append_c(path, '/');
    for (guint i = 0; i < STATE_ID_BYTES; i++)
        g_string_append_printf(path, "%02x", bus);
    g_string_append_printf(path, ".%s", suffix);
    return g_string_free(path, FALSE);
}

/* ---- warnings */

static GLogWriterOutput
keep_warning(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
    if (!(level & G_LOG_LEVEL_WARNING))
        return g_log_writer_default(level, fields, n_fields, NULL);
    g_ptr_array_add(data, g_log_writer_format_fields(level, fields, n_fields, FALSE));
    return G_LOG_WRITER_HANDLED;
}

GPtrArray *
world_capture_warnings(void)
{
    GPtrArray *warnings = g_ptr_array_new_with_free_func(g_free);

    g_log_set_writer_func(keep_warning, warnings, NULL);
    return warnings;
}

/* ---- opening and closing */

void
world_init_user_agent(UserAgent *user_agent, gint64 monotonic_us, gint64 realtime_us)
{
    Limits limits;

    limits_init(&limits);
    user_agent_init(user_agent, &limits);
    user_agent_set_time(user_agent, monotonic_us, realtime_us);
}

/* As the service, which makes another one at each start; that of a restored state replaces it. */
static void
choose_document_key(World *world, const char *directory, guint8 bus)
{
    g_autofree char *path = world_path(directory, bus, "state");
    guint64 *key = world->user_agent.document_key;

    key[0] = g_file_test(path, G_FILE_TEST_EXISTS) ? 2 : 1;
    key[1] = ~key[0];
}

static void
adopt(World *world, const GPtrArray *agents)
{
    for (guint i = 0; i < agents->len; i++) {
        Agent *agent = agents->pdata[i];
        int index = agent->client_id[3] - 'A';

        g_assert_true(index >= 0 && index < WORLD_AGENTS);
        world->agents[index] = agent_ref(agent);
    }
}

void
world_open_at(World *world,
              const char *directory,
              guint8 bus,
              guint8 boot,
              gint64 monotonic_us,
              gint64 realtime_us)
{
    g_autoptr(GError) error = NULL;
    Restored restored = {0};

    memset(world, 0, sizeof *world);
    world->options.directory = directory;
    memset(world->options.bus_id, bus, STATE_ID_BYTES);
    memset(world->options.boot_id, boot, STATE_ID_BYTES);
    world_init_user_agent(&world->user_agent, monotonic_us, realtime_us);
    choose_document_key(world, directory, bus);
    world->state = state_open(&world->options, &error);
    g_assert_no_error(error);
    g_assert_nonnull(world->state); /* no other process has the lock */
    state_restore(world->state, &world->user_agent, &restored, &error);
    g_assert_no_error(error);
    adopt(world, restored.agents);
    world->deadline_us = restored.numbers.deadline_us;
    restored_clear(&restored);
    state_begin(world->state, &world->user_agent, &error);
    g_assert_no_error(error);
    state_end_recovery();
}

void
world_open(World *world, const char *directory, guint8 bus)
{
    world_open_at(world, directory, bus, 1, WORLD_MONOTONIC_US, WORLD_REALTIME_US);
}

void
world_close(World *world)
{
    g_clear_pointer(&world->state, state_free);
    user_agent_shut_down(&world->user_agent);
    for (guint i = 0; i < WORLD_AGENTS; i++) {
        if (world->agents[i] != NULL)
            user_agent_lose(&world->user_agent, world->agents[i]);
        g_clear_pointer(&world->agents[i], agent_unref);
    }
    effects_clear(&world->user_agent.effects);
    user_agent_fini(&world->user_agent);
}

/* ---- operations */

Agent *
world_agent(World *world, char letter)
{
    Agent **agent = &world->agents[letter - 'A'];
    char client_id[] = {':', '1', '.', letter, '\0'};
    Principal *principal;

    if (*agent != NULL)
        return *agent;
    principal = principal_get(&world->user_agent, &identities[letter - 'A']);
    g_assert_cmpint(agent_new(principal, client_id, agent), ==, LOCK_RESULT_OK);
    (*agent)->pid = (guint32)letter;
    principal_unref(principal);
    return *agent;
}

static LockManager *
get_manager(World *world, const Agent *agent, const char *bucket)
{
    const PrincipalIdentity *caller = &agent->principal->identity;
    PrincipalIdentity owner;

    if (caller->kind == PRINCIPAL_UNSANDBOXED && g_str_equal(bucket, BUS_USER_DOCUMENTS_BUCKET))
        bucket = BUS_DOCUMENTS_BUCKET;
    owner = principal_identity_of_bucket(&world->user_agent, caller, &bucket);
    return user_agent_get_manager(&world->user_agent, &owner, bucket);
}

void
world_note_changes(World *world, LockRequest *answered)
{
    Effects *effects = &world->user_agent.effects;

    if (answered != NULL)
        state_note_request(world->state, answered);
    for (guint i = 0; i < effects_get_length(effects); i++)
        state_note_request(world->state, effects_get(effects, i)->request);
    effects_clear(effects);
}

static const char *
parse_options(char **words, LockOptions *options)
{
    const char *bucket = "default";

    for (guint i = 0; words[i] != NULL; i++) {
        const char *value = strchr(words[i], '=');

        value = value != NULL ? value + 1 : "";
        if (g_str_equal(words[i], "shared"))
            options->mode = LOCK_MODE_SHARED;
        else if (g_str_has_prefix(words[i], "slots="))
            options->slots = (guint32)g_ascii_strtoull(value, NULL, 10);
        else if (g_str_equal(words[i], "steal"))
            options->steal = TRUE;
        else if (g_str_has_prefix(words[i], "timeout="))
            options->timeout_ms = (guint32)g_ascii_strtoull(value, NULL, 10);
        else if (g_str_has_prefix(words[i], "key="))
            options->key = g_ascii_strtoull(value, NULL, 10);
        else if (g_str_has_prefix(words[i], "why="))
            options->why = value;
        else if (g_str_has_prefix(words[i], "for="))
            options->command = value;
        else if (g_str_has_prefix(words[i], "bucket="))
            bucket = value;
        else
            g_assert_cmpstr(words[i], ==, "");
    }
    return bucket;
}

guint64
world_request(World *world, char letter, const char *name, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    Agent *agent = world_agent(world, letter);
    LockOptions options = {.why = ""};
    const char *bucket = parse_options(words, &options);
    g_autoptr(LockManager) manager = get_manager(world, agent, bucket);
    LockRequest *request = NULL;
    guint64 id;

    state_reserve(world->state, lock_text_bytes(bucket, name, options.why, options.command));
    g_assert_cmpint(lock_manager_request(manager, agent, name, &options, &request), ==,
                    LOCK_RESULT_OK);
    id = request->id;
    world_note_changes(world, request);
    return id;
}

LockRequest *
world_find(World *world, char letter, guint64 id)
{
    LockRequest *request = agent_find_request(world_agent(world, letter), id);

    g_assert_nonnull(request);
    return request;
}

void
world_release(World *world, char letter, guint64 id)
{
    LockManager *manager = world_find(world, letter, id)->queue->manager;

    g_assert_cmpint(lock_manager_release(manager, world_agent(world, letter), id), ==,
                    LOCK_RESULT_OK);
    world_note_changes(world, NULL);
}

LockResult
world_downgrade(World *world, char letter, guint64 id)
{
    LockManager *manager = world_find(world, letter, id)->queue->manager;
    LockResult result = lock_manager_downgrade(manager, world_agent(world, letter), id);

    world_note_changes(world, NULL);
    return result;
}

void
world_abort(World *world, char letter, guint64 id)
{
    LockManager *manager = world_find(world, letter, id)->queue->manager;

    g_assert_true(lock_manager_abort(manager, world_agent(world, letter), id));
    world_note_changes(world, NULL);
}

void
world_terminate(World *world, char letter)
{
    Agent *agent = world_agent(world, letter);

    world->agents[letter - 'A'] = NULL;
    user_agent_terminate(&world->user_agent, agent);
    world_note_changes(world, NULL);
    state_note_agent_gone(world->state, agent);
    agent_unref(agent);
}

/* With a key or without one. */
static void
request_something(World *world, char letter, GRand *rand)
{
    static const char *const names[] = {"x", "y", ""};
    static const char *const options[] = {"",
                                          "shared",
                                          "shared why=w for=f",
                                          "steal",
                                          "slots=2",
                                          "slots=2",
                                          "timeout=60000 for=f",
                                          "bucket=other",
                                          "bucket=group:7",
                                          "shared bucket=group:7",
                                          "bucket=user:documents",
                                          "shared bucket=user:documents",
                                          "bucket=documents",
                                          "bucket=private-0123456789abcdef0123456789abcdef"};
    guint64 key = g_rand_boolean(rand) ? 1000 + world_agent(world, letter)->last_id : 0;
    g_autofree char *text =
        g_strdup_printf("%s key=%" G_GUINT64_FORMAT,
                        options[g_rand_int_range(rand, 0, G_N_ELEMENTS(options))], key);

    world_request(world, letter, names[g_rand_int_range(rand, 0, 3)], text);
}

void
world_do_something(World *world, GRand *rand)
{
    char letter = (char)('A' + g_rand_int_range(rand, 0, WORLD_AGENTS));
    Agent *agent = world->agents[letter - 'A'];
    LockRequest *request = NULL;

    if (agent != NULL && agent->requests.length > 0)
        request = g_queue_peek_nth(
            &agent->requests, (guint)g_rand_int_range(rand, 0, (gint32)agent->requests.length));
    if (agent != NULL && g_rand_int_range(rand, 0, 40) == 0)
        world_terminate(world, letter);
    else if (request == NULL || g_rand_int_range(rand, 0, 5) < 2)
        request_something(world, letter, rand);
    else if (request->state == LOCK_REQUEST_HELD && g_rand_int_range(rand, 0, 4) == 0)
        world_downgrade(world, letter, request->id);
    else if (request->state == LOCK_REQUEST_HELD)
        world_release(world, letter, request->id);
    else
        world_abort(world, letter, request->id);
}

void
world_commit(World *world)
{
    state_commit(world->state);
    state_compact(world->state);
}

/* ---- descriptions */

/* Of a bucket that is not one of the agent's principal. A member of a private session is shown its
 * name. */
static void
describe_owner(const LockRequest *request, GString *text)
{
    const LockManager *manager = request->queue->manager;
    const PrincipalIdentity *owner = &manager->principal->identity;

    if (manager->principal != request->agent->principal)
        g_string_append_printf(text, "of kind %u number %u ", (guint)owner->kind, owner->uid);
    g_assert_true(lock_manager_get_name_for(manager, request->agent) == manager->bucket);
}

static void
describe_request(const LockRequest *request, GString *text)
{
    describe_owner(request, text);
    g_string_append_printf(
        text,
        "%" G_GUINT64_FORMAT " key %" G_GUINT64_FORMAT " %s/%s %s %s token %" G_GUINT64_FORMAT
        " sequence %" G_GUINT64_FORMAT " since %" G_GINT64_FORMAT " deadline %" G_GINT64_FORMAT
        " why %s%s%s",
        request->id, request->key, request->queue->manager->bucket, request->queue->name,
        request->mode == LOCK_MODE_SHARED ? "shared" : "exclusive",
        request->state == LOCK_REQUEST_HELD ? "held" : "waiting", request->token, request->sequence,
        request->since_us, request->deadline_ms, request->why != NULL ? request->why : "",
        request->command != NULL ? " for " : "", request->command != NULL ? request->command : "");
    if (request->slots > 1)
        g_string_append_printf(text, " slots %u", request->slots);
    g_string_append_c(text, '\n');
}

/* The names that the service restores for a sandboxed agent: those of its requests among the
 * documents of its user. */
static void
describe_documents(Agent *agent, GString *text)
{
    Server server = {.user_agent = *agent->principal->user_agent};
    Client client = {.server = &server, .agent = agent};
    g_autoptr(GHashTable) opened = NULL;

    opened_restore(&client);
    opened = opened_get_all(&client);
    for (const GList *link = agent->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;
        const char *name = g_hash_table_lookup(opened, request->queue->name);

        if (lock_manager_is_of_user(request->queue->manager, agent->principal))
            g_string_append_printf(text, "%" G_GUINT64_FORMAT " by the name %s\n", request->id,
                                   name);
    }
    opened_clear(&client);
}

static void
describe_agent(Agent *agent, GString *text)
{
    const PrincipalIdentity *identity = &agent->principal->identity;

    g_string_append_printf(text, "%s uid %u kind %u app %s pid %u\n", agent->client_id,
                           identity->uid, (guint)identity->kind, identity->app_id, agent->pid);
    for (const GList *link = agent->requests.head; link != NULL; link = link->next)
        describe_request(link->data, text);
    describe_documents(agent, text);
}

/* Agents that never made a request are not stored. */
char *
world_describe(World *world)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < WORLD_AGENTS; i++) {
        if (world->agents[i] != NULL && world->agents[i]->last_id != 0)
            describe_agent(world->agents[i], text);
    }
    return g_string_free(text, FALSE);
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return g_strcmp0((*(Agent *const *)a)->client_id, (*(Agent *const *)b)->client_id);
}

/* Whose state it is does not matter. */
char *
world_describe_bytes(const char *bytes, gsize size)
{
    guint8 *copy = g_memdup2(bytes, MAX(size, 1)); /* exactly that long */
    GString *text = g_string_new(NULL);
    UserAgent user_agent;
    Restored restored;
    LogHead head = {0};
    gboolean is_sound;

    memcpy(&head, bytes, MIN(size, sizeof head));
    is_sound = log_extract_records(&head, copy, &size) == NULL;
    world_init_user_agent(&user_agent, WORLD_MONOTONIC_US, WORLD_REALTIME_US);
    is_sound = restore_all(&restored, &user_agent, NULL, copy, is_sound ? size : 0) && is_sound;
    g_ptr_array_sort(restored.agents, compare_names);
    for (guint i = 0; i < restored.agents->len; i++)
        describe_agent(restored.agents->pdata[i], text);
    if (!is_sound)
        g_string_assign(text, "damaged");
    restored_undo(&restored, &user_agent);
    restored_clear(&restored);
    user_agent_fini(&user_agent);
    return g_string_free(text, FALSE);
}

char *
world_describe_file(const char *path)
{
    g_autofree char *bytes = NULL;
    gsize size;

    if (!g_file_get_contents(path, &bytes, &size, NULL))
        return g_strdup("");
    return world_describe_bytes(bytes, size);
}
