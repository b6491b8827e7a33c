/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "records.h"

#include <string.h>

#include "name-hash.h"

#define HEADER_MAGIC 0x736b636f4c626557 /* "WebLocks" */

/* Nobody is kept out by it, so it may be known. */
static const NameHashKey digest_key = {HEADER_MAGIC, STATE_FORMAT_VERSION};

typedef struct {
    guint64 magic;
    guint64 version;
    guint8 bus_id[STATE_ID_BYTES];
    guint8 boot_id[STATE_ID_BYTES];
    guint64 token_ceiling;
    guint64 last_agent;
    guint64 n_commits;
    guint64 n_records;
    guint64 digest;
    guint64 own_digest; /* of what is before it */
} HeaderBytes;

/* The strings follow, each with its NUL, in the order of their lengths here. */
typedef struct {
    guint64 id_ceiling;
    guint32 uid;
    guint32 pid;
    guint32 kind;
    guint32 client_id_length;
    guint32 app_id_length;
    guint32 zero;
} AgentBytes;

typedef struct {
    guint64 key;
    guint64 token;
    guint64 sequence;
    gint64 since_us;
    gint64 deadline_ms;
    guint8 mode;
    guint8 state;
    guint16 bucket_length;
    guint32 name_length;
    guint32 why_length;
    guint32 zero;
} RequestBytes;

G_STATIC_ASSERT(sizeof(HeaderBytes) == 96);
G_STATIC_ASSERT(sizeof(AgentBytes) == 32);
G_STATIC_ASSERT(sizeof(RequestBytes) == 56);

/* ---- keys */

static void
append_number(RecordKey *key, guint64 number)
{
    const guint64 bytes = GUINT64_TO_BE(number); /* so that they sort */

    memcpy(key->bytes + key->size, &bytes, sizeof bytes);
    key->size += sizeof bytes;
}

static RecordKey
new_key(RecordKind kind)
{
    return (RecordKey){.bytes = {(guint8)kind}, .size = 1};
}

RecordKey
record_key_of_header(void)
{
    return new_key(RECORD_HEADER);
}

RecordKey
record_key_of_agent(guint64 agent)
{
    RecordKey key = new_key(RECORD_AGENT);

    append_number(&key, agent);
    return key;
}

RecordKey
record_key_of_lease(void)
{
    return new_key(RECORD_LEASE);
}

RecordKey
record_key_of_request(guint64 agent, guint64 id)
{
    RecordKey key = new_key(RECORD_REQUEST);

    append_number(&key, agent);
    append_number(&key, id);
    return key;
}

static guint64
read_number(const guint8 *bytes)
{
    guint64 number;

    memcpy(&number, bytes, sizeof number);
    return GUINT64_FROM_BE(number);
}

gboolean
record_key_read(
    const void *key, gsize size, RecordKind *out_kind, guint64 *out_agent, guint64 *out_id)
{
    const guint8 *bytes = key;

    *out_agent = *out_id = 0;
    if (size == 1 && bytes[0] == RECORD_HEADER) {
        *out_kind = RECORD_HEADER;
    } else if (size == 9 && bytes[0] == RECORD_AGENT) {
        *out_kind = RECORD_AGENT;
        *out_agent = read_number(bytes + 1);
    } else if (size == 1 && bytes[0] == RECORD_LEASE) {
        *out_kind = RECORD_LEASE;
    } else if (size == 17 && bytes[0] == RECORD_REQUEST) {
        *out_kind = RECORD_REQUEST;
        *out_agent = read_number(bytes + 1);
        *out_id = read_number(bytes + 9);
    } else {
        return FALSE;
    }
    return TRUE;
}

guint64
record_digest(const void *key, gsize key_size, const void *value, gsize value_size)
{
    const NameHashKey by_key = {name_hash_bytes(&digest_key, key, key_size), value_size};

    return name_hash_bytes(&by_key, value, value_size);
}

/* ---- values */

/* What is left to be read. */
typedef struct {
    const guint8 *bytes;
    gsize size;
} Reader;

static gboolean
read_bytes(Reader *reader, void *out, gsize size)
{
    if (reader->size < size)
        return FALSE;
    memcpy(out, reader->bytes, size);
    reader->bytes += size;
    reader->size -= size;
    return TRUE;
}

/* A string of that length, as D-Bus has them: UTF-8 without NUL. */
static gboolean
read_string(Reader *reader, gsize length, const char **out_string)
{
    const char *string = (const char *)reader->bytes;

    if (reader->size <= length || string[length] != '\0' ||
        !g_utf8_validate_len(string, length, NULL))
        return FALSE;
    *out_string = string;
    reader->bytes += length + 1;
    reader->size -= length + 1;
    return TRUE;
}

/* It has room to grow. */
static gboolean
is_counter(guint64 number)
{
    return number <= G_MAXINT64;
}

static void
append_string(GByteArray *bytes, const char *string, gsize length)
{
    g_byte_array_append(bytes, (const guint8 *)string, (guint)length + 1);
}

void
header_record_write(const HeaderRecord *record, GByteArray *bytes)
{
    HeaderBytes header = {
        .magic = HEADER_MAGIC,
        .version = STATE_FORMAT_VERSION,
        .token_ceiling = record->token_ceiling,
        .last_agent = record->last_agent,
        .n_commits = record->n_commits,
        .n_records = record->n_records,
        .digest = record->digest,
    };

    memcpy(header.bus_id, record->bus_id, STATE_ID_BYTES);
    memcpy(header.boot_id, record->boot_id, STATE_ID_BYTES);
    header.own_digest =
        name_hash_bytes(&digest_key, &header, G_STRUCT_OFFSET(HeaderBytes, own_digest));
    g_byte_array_append(bytes, (const guint8 *)&header, sizeof header);
}

gboolean
header_record_read(const void *bytes, gsize size, HeaderRecord *out_record)
{
    Reader reader = {bytes, size};
    HeaderBytes header;

    if (!read_bytes(&reader, &header, sizeof header) || reader.size > 0 ||
        header.magic != HEADER_MAGIC || header.version != STATE_FORMAT_VERSION ||
        header.own_digest !=
            name_hash_bytes(&digest_key, &header, G_STRUCT_OFFSET(HeaderBytes, own_digest)))
        return FALSE;

    *out_record = (HeaderRecord){
        .token_ceiling = header.token_ceiling,
        .last_agent = header.last_agent,
        .n_commits = header.n_commits,
        .n_records = header.n_records,
        .digest = header.digest,
    };
    memcpy(out_record->bus_id, header.bus_id, STATE_ID_BYTES);
    memcpy(out_record->boot_id, header.boot_id, STATE_ID_BYTES);
    return is_counter(header.token_ceiling) && is_counter(header.last_agent) &&
           is_counter(header.n_commits);
}

void
agent_record_write(const AgentRecord *record, GByteArray *bytes)
{
    const AgentBytes agent = {
        .id_ceiling = record->id_ceiling,
        .uid = record->identity.uid,
        .pid = record->pid,
        .kind = (guint32)record->identity.kind,
        .client_id_length = (guint32)strlen(record->client_id),
        .app_id_length = (guint32)strlen(record->identity.app_id),
    };

    g_byte_array_append(bytes, (const guint8 *)&agent, sizeof agent);
    append_string(bytes, record->client_id, agent.client_id_length);
    append_string(bytes, record->identity.app_id, agent.app_id_length);
}

gboolean
agent_record_read(const void *bytes, gsize size, AgentRecord *out_record)
{
    Reader reader = {bytes, size};
    AgentBytes agent;

    if (!read_bytes(&reader, &agent, sizeof agent) || agent.kind > PRINCIPAL_SNAP ||
        !read_string(&reader, agent.client_id_length, &out_record->client_id) ||
        !read_string(&reader, agent.app_id_length, &out_record->identity.app_id) || reader.size > 0)
        return FALSE;

    out_record->id_ceiling = agent.id_ceiling;
    out_record->pid = agent.pid;
    out_record->identity.uid = agent.uid;
    out_record->identity.kind = (PrincipalKind)agent.kind;
    return out_record->client_id[0] == ':' && is_counter(agent.id_ceiling) &&
           agent.uid != G_MAXUINT32 &&
           (agent.kind == PRINCIPAL_UNSANDBOXED) == (agent.app_id_length == 0);
}

void
request_record_write(const RequestRecord *record, GByteArray *bytes)
{
    const LockRequestParts *parts = &record->parts;
    const RequestBytes request = {
        .key = parts->key,
        .token = parts->token,
        .sequence = parts->sequence,
        .since_us = parts->since_us,
        .deadline_ms = parts->deadline_ms,
        .mode = (guint8)parts->mode,
        .state = (guint8)parts->state,
        .bucket_length = (guint16)strlen(record->bucket),
        .name_length = (guint32)strlen(record->name),
        .why_length = (guint32)strlen(parts->why),
    };

    g_byte_array_append(bytes, (const guint8 *)&request, sizeof request);
    append_string(bytes, record->bucket, request.bucket_length);
    append_string(bytes, record->name, request.name_length);
    append_string(bytes, parts->why, request.why_length);
}

gboolean
request_record_read(const void *bytes, gsize size, RequestRecord *out_record)
{
    LockRequestParts *parts = &out_record->parts;
    Reader reader = {bytes, size};
    RequestBytes request;

    if (!read_bytes(&reader, &request, sizeof request) ||
        !read_string(&reader, request.bucket_length, &out_record->bucket) ||
        !read_string(&reader, request.name_length, &out_record->name) ||
        !read_string(&reader, request.why_length, &parts->why) || reader.size > 0)
        return FALSE;

    parts->id = 0; /* it is in the key */
    parts->key = request.key;
    parts->token = request.token;
    parts->sequence = request.sequence;
    parts->since_us = request.since_us;
    parts->deadline_ms = request.deadline_ms;
    parts->mode = (LockMode)request.mode;
    parts->state = (LockRequestState)request.state;
    return (request.mode == LOCK_MODE_EXCLUSIVE || request.mode == LOCK_MODE_SHARED) &&
           request.state <= LOCK_REQUEST_HELD && is_counter(request.token) &&
           is_counter(request.sequence) && request.since_us >= 0 && request.deadline_ms >= 0 &&
           request.bucket_length > 0;
}

/* ---- the lease */

void
lease_record_write(gint64 deadline_us, GByteArray *bytes)
{
    g_byte_array_append(bytes, (const guint8 *)&deadline_us, sizeof deadline_us);
}

gboolean
lease_record_read(const void *bytes, gsize size, gint64 *out_deadline_us)
{
    if (size != sizeof *out_deadline_us)
        return FALSE;
    memcpy(out_deadline_us, bytes, size);
    return *out_deadline_us > 0;
}
