/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/restore, state/reader: records that contradict each other, though each of them is valid and
 * the header matches. None of them is restored, and their file is renamed.
 */

#include "service/state/restore.h"

#include <glib/gstdio.h>
#include <string.h>

#include "service/state/store.h"
#include "tests/state/state-world.h"

#define BUS           0xb5
#define TOKEN_CEILING 1000
#define LAST_AGENT    5
#define ID_CEILING    256

typedef struct {
    char *directory;
    char *path;
    Store *store;
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
put(Fixture *fixture, const RecordKey *key, GByteArray *bytes)
{
    g_autoptr(GError) error = NULL;

    store_put(fixture->store, key, bytes, &error);
    g_assert_no_error(error);
    g_byte_array_unref(bytes);
}

static void
put_agent_of(Fixture *fixture, guint64 number, const char *client_id, PrincipalIdentity identity)
{
    const RecordKey key = record_key_of_agent(number);
    const AgentRecord record = {ID_CEILING, 1, identity, client_id};
    GByteArray *bytes = g_byte_array_new();

    agent_record_write(&record, bytes);
    put(fixture, &key, bytes);
}

static void
put_agent(Fixture *fixture, guint64 number, const char *client_id)
{
    put_agent_of(fixture, number, client_id, (PrincipalIdentity){1000, PRINCIPAL_UNSANDBOXED, ""});
}

static LockRequestParts
held(guint64 sequence)
{
    return (LockRequestParts){.state = LOCK_REQUEST_HELD,
                              .mode = LOCK_MODE_EXCLUSIVE,
                              .token = 10 + sequence,
                              .sequence = sequence,
                              .why = ""};
}

static LockRequestParts
waiting(guint64 sequence)
{
    LockRequestParts parts = held(sequence);

    parts.state = LOCK_REQUEST_PENDING;
    parts.token = 0;
    return parts;
}

static void
put_request_in(Fixture *fixture,
               guint64 agent,
               guint64 id,
               const char *bucket,
               const char *name,
               LockRequestParts parts)
{
    const RecordKey key = record_key_of_request(agent, id);
    const RequestRecord record = {bucket, name, parts};
    GByteArray *bytes = g_byte_array_new();

    request_record_write(&record, bytes);
    put(fixture, &key, bytes);
}

static void
put_request(Fixture *fixture, guint64 agent, guint64 id, const char *name, LockRequestParts parts)
{
    put_request_in(fixture, agent, id, "default", name, parts);
}

static void
begin(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    HeaderRecord *header;

    fixture->store = store_open(fixture->path, &error);
    g_assert_no_error(error);
    g_assert_true(store_begin(fixture->store, NULL));
    header = store_get_header(fixture->store);
    memset(header->bus_id, BUS, STATE_ID_BYTES);
    memset(header->boot_id, 1, STATE_ID_BYTES);
    header->token_ceiling = TOKEN_CEILING;
    header->last_agent = LAST_AGENT;
    put_agent(fixture, 1, ":1.A");
    put_agent(fixture, 2, ":1.B");
    put_request(fixture, 1, 1, "x", held(1));
    put_request(fixture, 2, 1, "x", waiting(2));
}

static void
commit(Fixture *fixture)
{
    g_assert_true(store_commit(fixture->store, NULL));
    g_clear_pointer(&fixture->store, store_free);
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
    LockRequestParts parts = held(3);

    parts.mode = LOCK_MODE_SHARED;
    put_request(fixture, 2, 2, "x", parts);
}

static void
shared_and_exclusive(Fixture *fixture)
{
    LockRequestParts parts = held(3);

    parts.mode = LOCK_MODE_SHARED;
    put_request(fixture, 2, 2, "y", parts);
    put_request(fixture, 2, 3, "y", held(4));
}

static void
same_key_twice(Fixture *fixture)
{
    LockRequestParts parts = waiting(3);

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
agent_above_last(Fixture *fixture)
{
    put_agent(fixture, LAST_AGENT + 1, ":1.C");
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
    LockRequestParts parts = held(3);

    parts.token = 0;
    put_request(fixture, 1, 2, "y", parts);
}

static void
token_without_lock(Fixture *fixture)
{
    LockRequestParts parts = waiting(3);

    parts.token = 5;
    put_request(fixture, 1, 2, "y", parts);
}

static void
not_a_record(Fixture *fixture)
{
    const RecordKey key = record_key_of_request(1, 2);
    GByteArray *bytes = g_byte_array_new();

    g_byte_array_append(bytes, (const guint8 *)"garbage", 7);
    put(fixture, &key, bytes);
}

static void
not_an_agent(Fixture *fixture)
{
    const RecordKey key = record_key_of_agent(3);
    GByteArray *bytes = g_byte_array_new();

    g_byte_array_append(bytes, (const guint8 *)"garbage", 7);
    put(fixture, &key, bytes);
}

static void
another_kind(Fixture *fixture)
{
    const RecordKey key = {.bytes = "z12345678", .size = 9};

    put(fixture, &key, g_byte_array_new());
}

static void
another_kind_in_front(Fixture *fixture)
{
    const RecordKey key = {.bytes = "A", .size = 1};

    put(fixture, &key, g_byte_array_new());
}

static void
put_deadline(Fixture *fixture, gint64 deadline_us)
{
    const RecordKey key = record_key_of_lease();
    GByteArray *bytes = g_byte_array_new();

    lease_record_write(deadline_us, bytes);
    put(fixture, &key, bytes);
}

static void
no_deadline(Fixture *fixture)
{
    put_deadline(fixture, 0);
}

static void
deadline_before_the_boot(Fixture *fixture)
{
    put_deadline(fixture, -1);
}

static void
empty_lease(Fixture *fixture)
{
    const RecordKey key = record_key_of_lease();

    put(fixture, &key, g_byte_array_new());
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
    {"agent-above-last", agent_above_last},
    {"agent-zero", agent_zero},
    {"same-place-twice", same_place_twice},
    {"place-zero", place_zero},
    {"lock-without-token", lock_without_token},
    {"token-without-lock", token_without_lock},
    {"not-a-record", not_a_record},
    {"not-an-agent", not_an_agent},
    {"another-kind", another_kind},
    {"another-kind-in-front", another_kind_in_front},
    {"no-deadline", no_deadline},
    {"deadline-before-the-boot", deadline_before_the_boot},
    {"empty-lease", empty_lease},
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
    LockRequestParts parts = held(1);

    begin(fixture);
    parts.key = 7;
    put_request_in(fixture, 1, 2, "other", "x", parts);
    parts.sequence = 9;
    put_request_in(fixture, 2, ID_CEILING, "another", "x", parts);
    put_agent_of(fixture, LAST_AGENT, ":1.C", (PrincipalIdentity){2000, PRINCIPAL_UNSANDBOXED, ""});
    put_request(fixture, LAST_AGENT, 1, "x", parts);
    put_deadline(fixture, 1);
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

/* Tokens continue above the ceiling of the header, also if all other records are discarded. */
static void
test_tokens_of_a_good_header(Fixture *fixture, gconstpointer data)
{
    World world;
    guint64 id;

    begin(fixture);
    store_get_header(fixture->store)->token_ceiling = (guint64)WORLD_REALTIME_US * 2;
    two_exclusive(fixture);
    commit(fixture);
    world_open(&world, fixture->directory, BUS);
    id = world_request(&world, 'A', "x", "");
    g_assert_cmpuint(world_find(&world, 'A', id)->token, >, (guint64)WORLD_REALTIME_US * 2);
    world_close(&world);
}

/* ---- a header that doesn't match */

static void
test_wrong_sum(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < 4; i++) {
        g_autofree char *text = NULL;

        begin(fixture);
        store_get_header(fixture->store)->n_records += i == 0 ? 1 : i == 1 ? -1 : 0;
        store_get_header(fixture->store)->digest += i == 2 ? 1 : 0;
        commit(fixture);
        text = world_describe_file(fixture->path);
        g_assert_cmpint(g_str_equal(text, "damaged"), ==, i < 3);
        g_remove(fixture->path);
    }
}

/* ---- the format in the pipe from the child that reads */

static void
append_frame(GByteArray *bytes, const void *key, guint32 key_size, const void *value, guint32 size)
{
    g_byte_array_append(bytes, (const guint8 *)&key_size, sizeof key_size);
    g_byte_array_append(bytes, (const guint8 *)&size, sizeof size);
    g_byte_array_append(bytes, key, key_size);
    g_byte_array_append(bytes, value, size);
}

static GByteArray *
good_stream(guint n_headers)
{
    HeaderRecord header = {.token_ceiling = TOKEN_CEILING, .last_agent = LAST_AGENT};
    GByteArray *header_bytes = g_byte_array_new();
    GByteArray *bytes = g_byte_array_new();

    header.n_records = 1;
    header.digest = record_digest("key", 3, "value", 5);
    header_record_write(&header, header_bytes);
    for (guint i = 0; i < n_headers; i++)
        append_frame(bytes, "H", 1, header_bytes->data, header_bytes->len);
    append_frame(bytes, "key", 3, "value", 5);
    append_frame(bytes, "", 0, "", 0);
    g_byte_array_unref(header_bytes);
    return bytes;
}

static gboolean
is_valid(const guint8 *data, gsize size)
{
    GByteArray *bytes = g_byte_array_new_take(g_memdup2(data, size), size);
    g_autoptr(GError) error = NULL;
    g_autoptr(StateContents) contents = reader_decode(bytes, &error);

    if (contents == NULL)
        g_assert_error(error, STORE_ERROR, STORE_ERROR_DAMAGED);
    return contents != NULL;
}

static void
test_stream(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GByteArray) good = good_stream(1);
    g_autoptr(GByteArray) without_header = good_stream(0);
    g_autoptr(GByteArray) with_two_headers = good_stream(2);

    g_assert_true(is_valid(good->data, good->len));
    g_assert_false(is_valid(without_header->data, without_header->len));
    g_assert_false(is_valid(with_two_headers->data, with_two_headers->len));
    for (guint size = 0; size < good->len; size++)
        g_assert_false(is_valid(good->data, size));
    for (guint i = 0; i < good->len; i++) {
        for (guint bit = 0; bit < 8; bit++) {
            good->data[i] ^= (guint8)(1u << bit);
            g_assert_false(is_valid(good->data, good->len));
            good->data[i] ^= (guint8)(1u << bit);
        }
    }
    g_byte_array_append(good, (const guint8 *)"", 1);
    g_assert_false(is_valid(good->data, good->len));
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
    g_test_add("/contradictions/tokens-of-a-good-header", Fixture, NULL, set_up,
               test_tokens_of_a_good_header, tear_down);
    g_test_add("/contradictions/wrong-sum", Fixture, NULL, set_up, test_wrong_sum, tear_down);
    g_test_add("/contradictions/stream", Fixture, NULL, set_up, test_stream, tear_down);
    return g_test_run();
}
