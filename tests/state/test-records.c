/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/records: what is written is read unchanged; anything invalid is refused. */

#include <string.h>

#include "service/state/records.h"

static const AgentRecord good_agent = {
    .id_ceiling = 256,
    .pid = 4711,
    .identity = {1000, PRINCIPAL_FLATPAK, "org.example.App"},
    .client_id = ":1.42",
};

static const RequestRecord good_request = {
    .bucket = "default",
    .name = "printer",
    .parts = {.state = LOCK_REQUEST_HELD,
              .mode = LOCK_MODE_SHARED,
              .key = G_MAXUINT64,
              .token = G_MAXINT64,
              .sequence = 12,
              .since_us = 1,
              .deadline_ms = G_MAXINT64,
              .why = "annual report"},
};

static HeaderRecord
good_header(void)
{
    HeaderRecord header = {
        .token_ceiling = G_MAXINT64,
        .last_agent = 3,
        .n_records = G_MAXUINT64,
        .digest = G_MAXUINT64 - 1,
        .n_commits = 5,
    };

    memset(header.bus_id, 0xb5, STATE_ID_BYTES);
    memset(header.boot_id, 0xb7, STATE_ID_BYTES);
    return header;
}

static GByteArray *
write_request(const RequestRecord *record)
{
    GByteArray *bytes = g_byte_array_new();

    request_record_write(record, bytes);
    return bytes;
}

static GByteArray *
write_agent(const AgentRecord *record)
{
    GByteArray *bytes = g_byte_array_new();

    agent_record_write(record, bytes);
    return bytes;
}

/* A copy in an allocation of exactly that size, so that a sanitizer detects a read beyond it. */
static gpointer
exact(const guint8 *bytes, gsize size)
{
    return g_memdup2(bytes, size);
}

/* ---- keys */

static void
test_keys(void)
{
    static const guint64 numbers[] = {0, 1, 255, 256, 65536, G_MAXUINT32, G_MAXINT64, G_MAXUINT64};
    guint64 agent = 1, id = 1;
    RecordKind kind;
    RecordKey key = record_key_of_header();

    g_assert_true(record_key_read(key.bytes, key.size, &kind, &agent, &id));
    g_assert_cmpint(kind, ==, RECORD_HEADER);
    g_assert_cmpuint(agent, ==, 0);
    g_assert_cmpuint(id, ==, 0);
    key = record_key_of_lease();
    g_assert_true(record_key_read(key.bytes, key.size, &kind, &agent, &id));
    g_assert_cmpint(kind, ==, RECORD_LEASE);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) {
        key = record_key_of_agent(numbers[i]);
        g_assert_true(record_key_read(key.bytes, key.size, &kind, &agent, &id));
        g_assert_cmpint(kind, ==, RECORD_AGENT);
        g_assert_cmpuint(agent, ==, numbers[i]);
        g_assert_cmpuint(id, ==, 0);
        for (guint k = 0; k < G_N_ELEMENTS(numbers); k++) {
            key = record_key_of_request(numbers[i], numbers[k]);
            g_assert_cmpuint(key.size, <=, RECORD_KEY_BYTES_MAX);
            g_assert_true(record_key_read(key.bytes, key.size, &kind, &agent, &id));
            g_assert_cmpint(kind, ==, RECORD_REQUEST);
            g_assert_cmpuint(agent, ==, numbers[i]);
            g_assert_cmpuint(id, ==, numbers[k]);
        }
    }
}

static int
compare(const RecordKey *a, const RecordKey *b)
{
    int order = memcmp(a->bytes, b->bytes, MIN(a->size, b->size));

    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* The header, then agents, the lease, then requests by agent and id, as numbers. */
static void
test_keys_sort(void)
{
    const RecordKey keys[] = {
        record_key_of_header(),           record_key_of_agent(1),
        record_key_of_agent(255),         record_key_of_agent(256),
        record_key_of_agent(G_MAXUINT64), record_key_of_lease(),
        record_key_of_request(1, 1),      record_key_of_request(1, 255),
        record_key_of_request(1, 256),    record_key_of_request(1, G_MAXUINT64),
        record_key_of_request(2, 1),      record_key_of_request(256, 0),
    };

    for (guint i = 1; i < G_N_ELEMENTS(keys); i++)
        g_assert_cmpint(compare(&keys[i - 1], &keys[i]), <, 0);
}

static void
test_keys_refused(void)
{
    const RecordKey good = record_key_of_request(1, 2);
    guint64 agent, id;
    RecordKind kind;

    for (guint first = 0; first < 256; first++) {
        for (gsize size = 0; size <= RECORD_KEY_BYTES_MAX; size++) {
            g_autofree guint8 *bytes = exact(good.bytes, MAX(size, 1));
            gboolean is_one = (first == 'H' && size == 1) || (first == 'a' && size == 9) ||
                              (first == 'l' && size == 1) || (first == 'r' && size == 17);

            bytes[0] = (guint8)first;
            g_assert_cmpint(record_key_read(bytes, size, &kind, &agent, &id), ==, is_one);
        }
    }
}

/* ---- values */

static void
test_header(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    HeaderRecord header = good_header(), found;

    header_record_write(&header, bytes);
    g_assert_true(header_record_read(bytes->data, bytes->len, &found));
    g_assert_cmpmem(&found, sizeof found, &header, sizeof header);
}

/* Changes of any byte of a header are detected. */
static void
test_header_refused(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    HeaderRecord header = good_header(), found;

    header_record_write(&header, bytes);
    for (gsize i = 0; i < bytes->len; i++) {
        g_autofree guint8 *copy = exact(bytes->data, bytes->len);
        g_autofree guint8 *head = exact(bytes->data, MAX(i, 1));

        for (guint flip = 1; flip < 256; flip++) {
            copy[i] = bytes->data[i] ^ (guint8)flip;
            g_assert_false(header_record_read(copy, bytes->len, &found));
        }
        g_assert_false(header_record_read(head, i, &found));
    }
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    g_assert_false(header_record_read(bytes->data, bytes->len, &found));
}

static void
test_header_counters(void)
{
    for (guint i = 0; i < 2; i++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        HeaderRecord header = good_header(), found;

        *(i == 0 ? &header.token_ceiling : &header.last_agent) = (guint64)G_MAXINT64 + 1;
        header_record_write(&header, bytes);
        g_assert_false(header_record_read(bytes->data, bytes->len, &found));
    }
}

static void
test_agent(void)
{
    static const PrincipalIdentity identities[] = {
        {0, PRINCIPAL_UNSANDBOXED, ""},
        {G_MAXUINT32 - 1, PRINCIPAL_FLATPAK, "ä"},
        {1000, PRINCIPAL_SNAP, "snap.app"},
    };

    for (guint i = 0; i < G_N_ELEMENTS(identities); i++) {
        AgentRecord agent = good_agent, found;
        g_autoptr(GByteArray) bytes = NULL;
        g_autofree guint8 *copy = NULL;

        agent.identity = identities[i];
        agent.id_ceiling = i == 0 ? G_MAXINT64 : i;
        bytes = write_agent(&agent);
        copy = exact(bytes->data, bytes->len);
        g_assert_true(agent_record_read(copy, bytes->len, &found));
        g_assert_cmpuint(found.id_ceiling, ==, agent.id_ceiling);
        g_assert_cmpuint(found.pid, ==, agent.pid);
        g_assert_true(principal_identity_equal(&found.identity, &agent.identity));
        g_assert_cmpstr(found.client_id, ==, agent.client_id);
    }
}

static void
refuse_agent(const char *what, AgentRecord agent)
{
    g_autoptr(GByteArray) bytes = write_agent(&agent);
    AgentRecord found;

    g_test_message("%s", what);
    g_assert_false(agent_record_read(bytes->data, bytes->len, &found));
}

static void
test_agent_refused(void)
{
    AgentRecord agent = good_agent;

    agent.client_id = "org.example.App";
    refuse_agent("not a unique name", agent);
    agent.client_id = "";
    refuse_agent("no name", agent);
    agent.client_id = ":1.\xff";
    refuse_agent("a name that isn't UTF-8", agent);
    agent = good_agent;
    agent.id_ceiling = (guint64)G_MAXINT64 + 1;
    refuse_agent("no room for ids", agent);
    agent = good_agent;
    agent.identity.uid = G_MAXUINT32;
    refuse_agent("a uid that is none", agent);
    agent = good_agent;
    agent.identity.app_id = "";
    refuse_agent("a sandbox without an application", agent);
    agent.identity.app_id = "\xc3";
    refuse_agent("an application that isn't UTF-8", agent);
    agent = good_agent;
    agent.identity.kind = PRINCIPAL_UNSANDBOXED;
    refuse_agent("an application without a sandbox", agent);
    agent.identity.kind = (PrincipalKind)(PRINCIPAL_SNAP + 1);
    refuse_agent("another kind", agent);
}

static void
check_same(const RequestRecord *a, const RequestRecord *b)
{
    g_assert_cmpstr(a->bucket, ==, b->bucket);
    g_assert_cmpstr(a->name, ==, b->name);
    g_assert_cmpstr(a->parts.why, ==, b->parts.why);
    g_assert_cmpint(a->parts.state, ==, b->parts.state);
    g_assert_cmpint(a->parts.mode, ==, b->parts.mode);
    g_assert_cmpuint(a->parts.key, ==, b->parts.key);
    g_assert_cmpuint(a->parts.token, ==, b->parts.token);
    g_assert_cmpuint(a->parts.sequence, ==, b->parts.sequence);
    g_assert_cmpint(a->parts.since_us, ==, b->parts.since_us);
    g_assert_cmpint(a->parts.deadline_ms, ==, b->parts.deadline_ms);
}

static void
test_request(void)
{
    g_autofree char *long_name = g_strnfill(100000, 'n');
    g_autofree char *long_bucket = g_strnfill(255, 'b');
    RequestRecord records[] = {good_request, good_request, good_request};

    records[1].name = "";
    records[1].parts = (LockRequestParts){.state = LOCK_REQUEST_PENDING, .why = ""};
    records[1].bucket = "ä";
    records[2].name = long_name;
    records[2].bucket = long_bucket;
    records[2].parts.why = "日本語";
    for (guint i = 0; i < G_N_ELEMENTS(records); i++) {
        g_autoptr(GByteArray) bytes = write_request(&records[i]);
        g_autofree guint8 *copy = exact(bytes->data, bytes->len);
        RequestRecord found;

        g_assert_true(request_record_read(copy, bytes->len, &found));
        check_same(&records[i], &found);
    }
}

static void
refuse_request(const char *what, RequestRecord request)
{
    g_autoptr(GByteArray) bytes = write_request(&request);
    RequestRecord found;

    g_test_message("%s", what);
    g_assert_false(request_record_read(bytes->data, bytes->len, &found));
}

static void
test_request_refused(void)
{
    RequestRecord request = good_request;

    request.bucket = "";
    refuse_request("no bucket", request);
    request.bucket = "\xff";
    refuse_request("a bucket that isn't UTF-8", request);
    request = good_request;
    request.name = "\xed\xa0\x80"; /* a surrogate */
    refuse_request("a name that isn't UTF-8", request);
    request = good_request;
    request.parts.why = "\xc0\x80"; /* NUL, overlong */
    refuse_request("a reason that isn't UTF-8", request);
    request = good_request;
    request.parts.state = LOCK_REQUEST_ENDED;
    refuse_request("one that has ended", request);
    request.parts.state = (LockRequestState)200;
    refuse_request("another state", request);
    request = good_request;
    request.parts.mode = (LockMode)2;
    refuse_request("another mode", request);
    request = good_request;
    request.parts.token = (guint64)G_MAXINT64 + 1;
    refuse_request("no room for tokens", request);
    request = good_request;
    request.parts.sequence = G_MAXUINT64;
    refuse_request("no room for others behind it", request);
    request = good_request;
    request.parts.since_us = -1;
    refuse_request("before the boot", request);
    request = good_request;
    request.parts.deadline_ms = -1;
    refuse_request("a deadline before the boot", request);
}

/* ---- any bytes */

static gboolean
read_agent_at(const guint8 *bytes, gsize size)
{
    AgentRecord found;

    return agent_record_read(bytes, size, &found);
}

static gboolean
read_request_at(const guint8 *bytes, gsize size)
{
    RequestRecord found;

    return request_record_read(bytes, size, &found);
}

/* Each length but the right one is refused, and nothing is read beyond the end. */
static void
check_lengths(const GByteArray *bytes, gboolean (*read)(const guint8 *, gsize))
{
    for (gsize size = 0; size < bytes->len; size++) {
        g_autofree guint8 *head = exact(bytes->data, MAX(size, 1));

        g_assert_false(read(head, size));
    }
    for (gsize more = 1; more < 70; more++) {
        g_autofree guint8 *longer = g_malloc0(bytes->len + more);

        memcpy(longer, bytes->data, bytes->len);
        g_assert_false(read(longer, bytes->len + more));
    }
}

/* Random bytes are read without a crash; the fields that are lengths get special values. */
static void
check_bytes(const GByteArray *bytes, gboolean (*read)(const guint8 *, gsize))
{
    static const guint8 values[] = {0, 1, 0x7f, 0x80, 0xff};

    for (gsize i = 0; i < bytes->len; i++) {
        for (guint v = 0; v < G_N_ELEMENTS(values); v++) {
            g_autofree guint8 *copy = exact(bytes->data, bytes->len);

            copy[i] = values[v];
            (void)read(copy, bytes->len);
            memset(copy + i, values[v], MIN(4, bytes->len - i));
            (void)read(copy, bytes->len);
        }
    }
}

static void
test_any_bytes(void)
{
    g_autoptr(GByteArray) agent = write_agent(&good_agent);
    g_autoptr(GByteArray) request = write_request(&good_request);

    check_lengths(agent, read_agent_at);
    check_lengths(request, read_request_at);
    check_bytes(agent, read_agent_at);
    check_bytes(request, read_request_at);
}

/* The digest changes with any bit of key or value, and with the boundary between them. */
static void
test_digest(void)
{
    g_autoptr(GByteArray) bytes = write_request(&good_request);
    const RecordKey key = record_key_of_request(1, 2);
    guint64 digest = record_digest(key.bytes, key.size, bytes->data, bytes->len);

    g_assert_cmpuint(digest, ==, record_digest(key.bytes, key.size, bytes->data, bytes->len));
    for (gsize i = 0; i < (gsize)bytes->len * 8; i++) {
        bytes->data[i / 8] ^= (guint8)(1u << i % 8);
        g_assert_cmpuint(digest, !=, record_digest(key.bytes, key.size, bytes->data, bytes->len));
        bytes->data[i / 8] ^= (guint8)(1u << i % 8);
    }
    for (gsize i = 0; i < key.size * 8; i++) {
        RecordKey other = key;

        other.bytes[i / 8] ^= (guint8)(1u << i % 8);
        g_assert_cmpuint(digest, !=,
                         record_digest(other.bytes, other.size, bytes->data, bytes->len));
    }
    g_assert_cmpuint(record_digest("ab", 2, "c", 1), !=, record_digest("a", 1, "bc", 2));
    g_assert_cmpuint(record_digest("a", 1, "\0", 1), !=, record_digest("a", 1, "", 0));
}

static void
test_lease(void)
{
    static const gint64 good[] = {1, 123456789, G_MAXINT64};
    static const gint64 bad[] = {0, -1, G_MININT64};
    gint64 deadline_us;

    for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();

        lease_record_write(good[i], bytes);
        g_assert_true(lease_record_read(bytes->data, bytes->len, &deadline_us));
        g_assert_cmpint(deadline_us, ==, good[i]);
        g_assert_false(lease_record_read(bytes->data, bytes->len - 1, &deadline_us));
        g_byte_array_append(bytes, (const guint8 *)"", 1);
        g_assert_false(lease_record_read(bytes->data, bytes->len, &deadline_us));
    }
    for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(lease_record_read(&bad[i], sizeof bad[i], &deadline_us));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/records/keys", test_keys);
    g_test_add_func("/records/keys-sort", test_keys_sort);
    g_test_add_func("/records/keys-refused", test_keys_refused);
    g_test_add_func("/records/header", test_header);
    g_test_add_func("/records/header-refused", test_header_refused);
    g_test_add_func("/records/header-counters", test_header_counters);
    g_test_add_func("/records/agent", test_agent);
    g_test_add_func("/records/agent-refused", test_agent_refused);
    g_test_add_func("/records/request", test_request);
    g_test_add_func("/records/request-refused", test_request_refused);
    g_test_add_func("/records/lease", test_lease);
    g_test_add_func("/records/any-bytes", test_any_bytes);
    g_test_add_func("/records/digest", test_digest);
    return g_test_run();
}
