/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/records, state/restore: records that are invalid or contradict each other, in a file that
 * is sound. None of them is restored, and their file is renamed. */

#include "service/state/restore.h"

#include <glib/gstdio.h>
#include <string.h>

#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "service/state/records.h"
#include "tests/state/state-world.h"

#define BUS           0xb5
#define TOKEN_CEILING 1000
#define ID_CEILING    256

typedef struct {
    char *directory;
    char *path;
    GByteArray *frame;
} Fixture;

static guint n_warnings;

static GLogWriterOutput
count_warning(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer data)
{
    if (!(level & G_LOG_LEVEL_WARNING))
        return g_log_writer_default(level, fields, n_fields, data);
    n_warnings++;
    return G_LOG_WRITER_HANDLED;
}

/* ---- the file */

static void
put_agent_of(Fixture *fixture, guint64 number, const char *client_id, PrincipalIdentity identity)
{
    Principal principal = {.identity = identity};
    const Agent agent = {.principal = &principal,
                         .client_id = (char *)client_id,
                         .pid = 1,
                         .mark = {.number = number, .id_ceiling = ID_CEILING}};

    record_put_agent(fixture->frame, &agent);
}

static void
put_agent(Fixture *fixture, guint64 number, const char *client_id)
{
    put_agent_of(fixture, number, client_id, (PrincipalIdentity){1000, PRINCIPAL_UNSANDBOXED, ""});
}

static LockRequest
held(guint64 sequence)
{
    return (LockRequest){.state = LOCK_REQUEST_HELD,
                         .mode = LOCK_MODE_EXCLUSIVE,
                         .token = 10 + sequence,
                         .sequence = sequence};
}

static LockRequest
waiting(guint64 sequence)
{
    LockRequest parts = held(sequence);

    parts.state = LOCK_REQUEST_PENDING;
    parts.token = 0;
    return parts;
}

static void
put_request_in(Fixture *fixture,
               guint64 number,
               guint64 id,
               const char *bucket,
               const char *name,
               LockRequest request)
{
    g_autofree LockQueue *queue = g_malloc0(sizeof(LockQueue) + strlen(name) + 1);
    LockManager manager = {.bucket = (char *)bucket};
    Agent agent = {.mark = {.number = number}};

    memcpy(queue->name, name, strlen(name));
    queue->manager = &manager;
    request.id = id;
    request.agent = &agent;
    request.queue = queue;
    record_put_request(fixture->frame, &request);
}

static void
put_request(Fixture *fixture, guint64 agent, guint64 id, const char *name, LockRequest parts)
{
    put_request_in(fixture, agent, id, "default", name, parts);
}

/* Two agents, and a request of each. */
static void
begin(Fixture *fixture)
{
    fixture->frame = g_byte_array_new();
    log_begin_frame(fixture->frame);
    record_put(fixture->frame, RECORD_TOKENS, 0, TOKEN_CEILING);
    put_agent(fixture, 1, ":1.A");
    put_agent(fixture, 2, ":1.B");
    put_request(fixture, 1, 1, "x", held(1));
    put_request(fixture, 2, 1, "x", waiting(2));
}

static void
commit(Fixture *fixture)
{
    guint8 bus_id[LOG_ID_BYTES], boot_id[LOG_ID_BYTES];
    g_autoptr(GError) error = NULL;
    Log *log;

    memset(bus_id, BUS, sizeof bus_id);
    memset(boot_id, 1, sizeof boot_id);
    log = log_open(fixture->path, bus_id, boot_id, &error);
    g_assert_no_error(error);
    g_assert_true(log_reserve(log, 65536));
    g_assert_true(log_replace(log, fixture->frame, &error));
    log_free(log);
    g_clear_pointer(&fixture->frame, g_byte_array_unref);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->directory = world_new_directory();
    fixture->path = world_path(fixture->directory, BUS, "state");
    n_warnings = 0;
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    world_remove_directory(fixture->directory);
    g_free(fixture->directory);
    g_free(fixture->path);
}

/* ---- the contradictions */

static void
none(Fixture *fixture)
{
}

static void
two_exclusive(Fixture *fixture)
{
    put_request(fixture, 2, 2, "x", held(3));
}

static void
exclusive_and_shared(Fixture *fixture)
{
    LockRequest parts = held(3);

    parts.mode = LOCK_MODE_SHARED;
    put_request(fixture, 2, 2, "x", parts);
}

static void
shared_and_exclusive(Fixture *fixture)
{
    LockRequest parts = held(3);

    parts.mode = LOCK_MODE_SHARED;
    put_request(fixture, 2, 2, "y", parts);
    put_request(fixture, 2, 3, "y", held(4));
}

static void
same_key_twice(Fixture *fixture)
{
    LockRequest parts = waiting(3);

    parts.key = 7;
    put_request(fixture, 1, 2, "y", parts);
    parts.sequence = 4;
    put_request(fixture, 1, 3, "y", parts);
}

static void
id_above_ceiling(Fixture *fixture)
{
    put_request(fixture, 1, ID_CEILING + 1, "y", waiting(3));
}

static void
id_zero(Fixture *fixture)
{
    put_request(fixture, 1, 0, "y", waiting(3));
}

static void
unknown_agent(Fixture *fixture)
{
    put_request(fixture, 3, 1, "y", waiting(3));
}

static void
one_client_twice(Fixture *fixture)
{
    put_agent(fixture, 3, ":1.A");
}

static void
one_client_of_two_users(Fixture *fixture)
{
    put_agent_of(fixture, 3, ":1.A", (PrincipalIdentity){2000, PRINCIPAL_UNSANDBOXED, ""});
}

static void
agent_zero(Fixture *fixture)
{
    put_agent(fixture, 0, ":1.C");
}

static void
same_place_twice(Fixture *fixture)
{
    put_request(fixture, 1, 2, "y", waiting(2));
}

static void
place_zero(Fixture *fixture)
{
    put_request(fixture, 1, 2, "y", waiting(0));
}

static void
lock_without_token(Fixture *fixture)
{
    LockRequest parts = held(3);

    parts.token = 0;
    put_request(fixture, 1, 2, "y", parts);
}

static void
token_without_lock(Fixture *fixture)
{
    LockRequest parts = waiting(3);

    parts.token = 5;
    put_request(fixture, 1, 2, "y", parts);
}

/* An agent's record may come again, but not as that of another client. */
static void
another_client(Fixture *fixture)
{
    put_agent(fixture, 2, ":1.C");
}

static void
agent_above_all(Fixture *fixture)
{
    put_agent(fixture, (guint64)G_MAXINT64 + 1, ":1.C");
}

static void
gone_with_a_lock(Fixture *fixture)
{
    record_put(fixture->frame, RECORD_AGENT_GONE, 1, 0);
}

static void
gone_twice(Fixture *fixture)
{
    put_agent(fixture, 3, ":1.C");
    record_put(fixture->frame, RECORD_AGENT_GONE, 3, 0);
    record_put(fixture->frame, RECORD_AGENT_GONE, 3, 0);
}

static void
ended_twice(Fixture *fixture)
{
    record_put(fixture->frame, RECORD_REQUEST_ENDED, 1, 1);
    record_put(fixture->frame, RECORD_REQUEST_ENDED, 1, 1);
}

static void
another_kind(Fixture *fixture)
{
    record_put(fixture->frame, (RecordKind)'z', 1, 1);
}

static void
deadline_before_the_boot(Fixture *fixture)
{
    record_put(fixture->frame, RECORD_LEASE, 0, (guint64)-1);
}

static void
no_room_for_tokens(Fixture *fixture)
{
    record_put(fixture->frame, RECORD_TOKENS, 0, (guint64)G_MAXINT64 + 1);
}

/* The size of the last record, which is a request's. */
static void
set_size(Fixture *fixture, guint32 size)
{
    gsize position = 0, last = 0;
    guint32 found;

    put_request(fixture, 1, 2, "y", waiting(3));
    for (position = 24; position < fixture->frame->len; position += found) {
        last = position;
        memcpy(&found, fixture->frame->data + position, sizeof found);
    }
    memcpy(fixture->frame->data + last, &size, sizeof size);
}

static void
size_zero(Fixture *fixture)
{
    set_size(fixture, 0);
}

static void
size_of_less(Fixture *fixture)
{
    set_size(fixture, 24);
}

static void
size_of_more(Fixture *fixture)
{
    set_size(fixture, 1000);
}

static void
size_of_all(Fixture *fixture)
{
    set_size(fixture, G_MAXUINT32 - 7);
}

typedef struct {
    const char *path;
    void (*add)(Fixture *fixture);
} Contradiction;

static const Contradiction contradictions[] = {
    {"two-exclusive", two_exclusive},
    {"exclusive-and-shared", exclusive_and_shared},
    {"shared-and-exclusive", shared_and_exclusive},
    {"same-key-twice", same_key_twice},
    {"id-above-ceiling", id_above_ceiling},
    {"id-zero", id_zero},
    {"unknown-agent", unknown_agent},
    {"one-client-twice", one_client_twice},
    {"one-client-of-two-users", one_client_of_two_users},
    {"agent-zero", agent_zero},
    {"same-place-twice", same_place_twice},
    {"place-zero", place_zero},
    {"lock-without-token", lock_without_token},
    {"token-without-lock", token_without_lock},
    {"another-client", another_client},
    {"agent-above-all", agent_above_all},
    {"gone-with-a-lock", gone_with_a_lock},
    {"gone-twice", gone_twice},
    {"ended-twice", ended_twice},
    {"another-kind", another_kind},
    {"deadline-before-the-boot", deadline_before_the_boot},
    {"no-room-for-tokens", no_room_for_tokens},
    {"size-zero", size_zero},
    {"size-of-less", size_of_less},
    {"size-of-more", size_of_more},
    {"size-of-all", size_of_all},
};

/* ---- the file is not used */

static void
open_and_close(Fixture *fixture, guint n_requests)
{
    World world;

    world_open(&world, fixture->directory, BUS);
    g_assert_cmpuint(user_agent_get_n_requests(&world.user_agent), ==, n_requests);
    g_assert_cmpuint(world.user_agent.agents.length, ==, n_requests);
    world_request(&world, 'C', "x", "");
    world_close(&world);
}

static void
test_consistent(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = NULL;

    begin(fixture);
    none(fixture);
    commit(fixture);
    text = world_describe_file(fixture->path);
    g_assert_cmpstr(text, !=, "damaged");
    open_and_close(fixture, 2);
    g_assert_cmpuint(n_warnings, ==, 0);
}

/* What contradicts itself in one bucket is valid in two, and with two agents. */
static void
test_consistent_in_two_buckets(Fixture *fixture, gconstpointer data)
{
    g_autofree char *text = NULL;
    LockRequest parts = held(1);

    begin(fixture);
    parts.key = 7;
    put_request_in(fixture, 1, 2, "other", "x", parts);
    parts.sequence = 9;
    put_request_in(fixture, 2, ID_CEILING, "another", "x", parts);
    put_agent_of(fixture, 5, ":1.C", (PrincipalIdentity){2000, PRINCIPAL_UNSANDBOXED, ""});
    put_request(fixture, 5, 1, "x", parts);
    record_put(fixture->frame, RECORD_LEASE, 0, 1);
    commit(fixture);
    text = world_describe_file(fixture->path);
    g_assert_cmpstr(text, !=, "damaged");
}

static void
test_contradiction(Fixture *fixture, gconstpointer data)
{
    const Contradiction *contradiction = data;
    g_autofree char *aside = world_path(fixture->directory, BUS, "state.aside");
    g_autofree char *text = NULL;
    g_autofree char *before = NULL;
    g_autofree char *after = NULL;
    gsize n_before, n_after;

    begin(fixture);
    contradiction->add(fixture);
    commit(fixture);
    text = world_describe_file(fixture->path);
    g_assert_cmpstr(text, ==, "damaged");
    g_assert_true(g_file_get_contents(fixture->path, &before, &n_before, NULL));
    open_and_close(fixture, 0);
    g_assert_cmpuint(n_warnings, ==, 1);
    g_assert_true(g_file_get_contents(aside, &after, &n_after, NULL));
    g_assert_cmpmem(after, n_after, before, n_before);
    open_and_close(fixture, 1);
    g_assert_cmpuint(n_warnings, ==, 1);
}

/* Tokens continue above the ceiling, also if all other records are discarded. */
static void
test_tokens_of_contradictions(Fixture *fixture, gconstpointer data)
{
    World world;
    guint64 id;

    begin(fixture);
    record_put(fixture->frame, RECORD_TOKENS, 0, (guint64)WORLD_REALTIME_US * 2);
    two_exclusive(fixture);
    commit(fixture);
    world_open(&world, fixture->directory, BUS);
    id = world_request(&world, 'A', "x", "");
    g_assert_cmpuint(world_find(&world, 'A', id)->token, >, (guint64)WORLD_REALTIME_US * 2);
    world_close(&world);
}

/* ---- each invalid value */

static void
test_agents_refused(Fixture *fixture, gconstpointer data)
{
    static const struct {
        const char *client_id;
        PrincipalIdentity identity;
    } bad[] = {
        {"org.example.App", {1000, PRINCIPAL_UNSANDBOXED, ""}},
        {"", {1000, PRINCIPAL_UNSANDBOXED, ""}},
        {":1.\xff", {1000, PRINCIPAL_UNSANDBOXED, ""}},
        {":1.9", {G_MAXUINT32, PRINCIPAL_UNSANDBOXED, ""}},
        {":1.9", {1000, PRINCIPAL_FLATPAK, ""}},
        {":1.9", {1000, PRINCIPAL_FLATPAK, "\xc3"}},
        {":1.9", {1000, PRINCIPAL_UNSANDBOXED, "org.example.App"}},
        {":1.9", {1000, PRINCIPAL_SNAP + 1, "org.example.App"}},
    };

    for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autofree char *text = NULL;

        begin(fixture);
        put_agent_of(fixture, 3, bad[i].client_id, bad[i].identity);
        commit(fixture);
        text = world_describe_file(fixture->path);
        g_assert_cmpstr(text, ==, "damaged");
    }
}

static void
refuse_request(
    Fixture *fixture, const char *what, const char *bucket, const char *name, LockRequest request)
{
    g_autofree char *text = NULL;

    g_test_message("%s", what);
    begin(fixture);
    put_request_in(fixture, 1, 2, bucket, name, request);
    commit(fixture);
    text = world_describe_file(fixture->path);
    g_assert_cmpstr(text, ==, "damaged");
}

static void
test_requests_refused(Fixture *fixture, gconstpointer data)
{
    LockRequest request = held(3);

    refuse_request(fixture, "no bucket", "", "y", request);
    refuse_request(fixture, "a bucket that isn't UTF-8", "\xff", "y", request);
    refuse_request(fixture, "a surrogate", "default", "\xed\xa0\x80", request);
    request.why = (char *)"\xc0\x80";
    refuse_request(fixture, "NUL, overlong", "default", "y", request);
    request = held(3);
    request.state = LOCK_REQUEST_ENDED;
    refuse_request(fixture, "one that has ended", "default", "y", request);
    request.state = (LockRequestState)200;
    refuse_request(fixture, "another state", "default", "y", request);
    request = held(3);
    request.mode = (LockMode)2;
    refuse_request(fixture, "another mode", "default", "y", request);
    request = held(3);
    request.token = (guint64)G_MAXINT64 + 1;
    refuse_request(fixture, "no room for tokens", "default", "y", request);
    request = held(G_MAXUINT64);
    refuse_request(fixture, "no room for others behind it", "default", "y", request);
    request = held(3);
    request.since_us = -1;
    refuse_request(fixture, "before the boot", "default", "y", request);
    request = held(3);
    request.deadline_ms = -1;
    refuse_request(fixture, "a deadline before the boot", "default", "y", request);
}

/* Any bytes are read without a crash; the fields that are lengths get special values. Each copy is
 * exactly that long, so that a sanitizer detects a read beyond it. */
static void
test_any_bytes(Fixture *fixture, gconstpointer data)
{
    static const guint8 values[] = {0, 1, 0x7f, 0x80, 0xff};
    g_autoptr(GByteArray) frame = NULL;

    begin(fixture);
    frame = g_steal_pointer(&fixture->frame);
    for (guint i = 0; i < frame->len * G_N_ELEMENTS(values) * 2; i++) {
        guint where = i / (2 * G_N_ELEMENTS(values));
        gsize size = frame->len - 24;
        g_autofree guint8 *copy = g_memdup2(frame->data + 24, size);
        const guint8 *next = copy;
        const Record *record;

        if (where >= size)
            break;
        memset(copy + where, values[i % G_N_ELEMENTS(values)],
               i / G_N_ELEMENTS(values) % 2 == 0 ? 1 : MIN(4, size - where));
        while ((record = record_next(&next, &size)) != NULL) {
            const char *bucket, *name;
            PrincipalIdentity identity;
            LockRequest request;
            guint32 pid;

            if (record->kind == RECORD_AGENT)
                (void)record_read_agent(record, &identity, &name, &pid);
            else if (record->kind == RECORD_REQUEST)
                (void)record_read_request(record, &bucket, &name, &request);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_log_set_writer_func(count_warning, NULL, NULL);
    g_test_add("/contradictions/consistent", Fixture, NULL, set_up, test_consistent, tear_down);
    g_test_add("/contradictions/consistent-in-two-buckets", Fixture, NULL, set_up,
               test_consistent_in_two_buckets, tear_down);
    for (guint i = 0; i < G_N_ELEMENTS(contradictions); i++) {
        g_autofree char *path = g_strdup_printf("/contradictions/%s", contradictions[i].path);

        g_test_add(path, Fixture, &contradictions[i], set_up, test_contradiction, tear_down);
    }
    g_test_add("/contradictions/tokens-of-contradictions", Fixture, NULL, set_up,
               test_tokens_of_contradictions, tear_down);
    g_test_add("/contradictions/agents-refused", Fixture, NULL, set_up, test_agents_refused,
               tear_down);
    g_test_add("/contradictions/requests-refused", Fixture, NULL, set_up, test_requests_refused,
               tear_down);
    g_test_add("/contradictions/any-bytes", Fixture, NULL, set_up, test_any_bytes, tear_down);
    return g_test_run();
}
