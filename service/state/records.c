/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "records.h"

#include <string.h>

#include "bus-names.h"
#include "lock-manager.h"
#include "lock-queue.h"

/* The strings follow, each with its NUL, in the order of their lengths here. */
typedef struct {
    Record record;
    guint32 uid;
    guint32 pid;
    guint32 kind;
    guint32 client_id_length;
    guint32 app_id_length;
    guint32 zero;
} AgentRecord;

typedef struct {
    Record record;
    guint64 key;
    guint64 token;
    guint64 sequence;
    gint64 since_us;
    gint64 deadline_ms;
    guint8 mode;
    guint8 state;
    guint16 bucket_length;
    guint32 name_length;
    guint32 texts_length; /* of `why`; if there is a `for`, of `why`, a NUL and `for` */
    guint32 slots;        /* 0 in a file of the format before this field: 1 */
} RequestRecord;

G_STATIC_ASSERT(sizeof(Record) == 24);
G_STATIC_ASSERT(sizeof(AgentRecord) == 48);
G_STATIC_ASSERT(sizeof(RequestRecord) == 80);
/* The name of a bucket may be longer than the one that is charged. */
G_STATIC_ASSERT(sizeof(RequestRecord) + 4 + 7 + sizeof BUS_USER_DOCUMENTS_BUCKET -
                    sizeof BUS_DOCUMENTS_BUCKET <=
                RECORD_REQUEST_BYTES);

static gsize
round_up(gsize size)
{
    return (size + 7) & ~(gsize)7;
}

/* ---- writing */

/* Makes room for a record, which may have zeros behind its last string, and returns it. */
static guint8 *
append(GByteArray *frame, gsize size)
{
    guint position = frame->len;

    g_byte_array_set_size(frame, position + (guint)size);
    memset(frame->data + position + size - sizeof(guint64), 0, sizeof(guint64));
    return frame->data + position;
}

static guint8 *
put_string(guint8 *next, const char *string, gsize length)
{
    memcpy(next, string, length + 1);
    return next + length + 1;
}

void
record_put(GByteArray *frame, RecordKind kind, guint64 agent, guint64 number)
{
    const Record record = {sizeof record, (guint32)kind, agent, number};

    memcpy(append(frame, sizeof record), &record, sizeof record);
}

gsize
record_agent_size(const Agent *agent)
{
    return round_up(sizeof(AgentRecord) + strlen(agent->client_id) +
                    strlen(agent->principal->identity.app_id) + 2);
}

void
record_put_agent(GByteArray *frame, const Agent *agent)
{
    const PrincipalIdentity *identity = &agent->principal->identity;
    gsize size = record_agent_size(agent);
    const AgentRecord record = {
        .record = {(guint32)size, RECORD_AGENT, agent->mark.number, agent->mark.id_ceiling},
        .uid = identity->uid,
        .pid = agent->pid,
        .kind = (guint32)identity->kind,
        .client_id_length = (guint32)strlen(agent->client_id),
        .app_id_length = (guint32)strlen(identity->app_id),
    };
    guint8 *next = append(frame, size);

    memcpy(next, &record, sizeof record);
    next = put_string(next + sizeof record, agent->client_id, record.client_id_length);
    put_string(next, identity->app_id, record.app_id_length);
}

void
record_put_request(GByteArray *frame, const LockRequest *request)
{
    const char *bucket =
        lock_manager_get_name_of(request->queue->manager, request->agent->principal);
    const char *name = request->queue->name;
    const char *why = request->why != NULL ? request->why : "";
    const char *command = request->command;
    RequestRecord record = {
        .record = {0, RECORD_REQUEST, request->agent->mark.number, request->id},
        .key = request->key,
        .token = request->token,
        .sequence = request->sequence,
        .since_us = request->since_us,
        .deadline_ms = request->deadline_ms,
        .mode = (guint8)request->mode,
        .state = (guint8)request->state,
        .bucket_length = (guint16)strlen(bucket),
        .name_length = (guint32)strlen(name),
        .texts_length = (guint32)(strlen(why) + (command != NULL ? 1 + strlen(command) : 0)),
        .slots = request->slots,
    };
    guint8 *next;

    record.record.size = (guint32)round_up(sizeof record + record.bucket_length +
                                           record.name_length + record.texts_length + 3);
    next = append(frame, record.record.size);
    memcpy(next, &record, sizeof record);
    next = put_string(next + sizeof record, bucket, record.bucket_length);
    next = put_string(next, name, record.name_length);
    next = put_string(next, why, strlen(why));
    if (command != NULL)
        put_string(next, command, strlen(command));
}

/* ---- reading */

static gsize
get_size_min(const Record *record)
{
    switch (record->kind) {
    case RECORD_AGENT:
        return sizeof(AgentRecord);
    case RECORD_REQUEST:
        return sizeof(RequestRecord);
    default:
        return sizeof(Record);
    }
}

const Record *
record_next(const guint8 **bytes, gsize *size)
{
    const Record *record = (const Record *)*bytes;

    if (*size < sizeof *record || record->size < get_size_min(record) || record->size > *size ||
        record->size % 8 != 0)
        return NULL;
    *bytes += record->size;
    *size -= record->size;
    return record;
}

/* What is left to be read of a record. */
typedef struct {
    const char *next;
    gsize size;
} Reader;

/* A string of that length, as D-Bus has them: UTF-8 without NUL. */
static gboolean
read_string(Reader *reader, gsize length, const char **out_string)
{
    const char *string = reader->next;

    if (reader->size <= length || string[length] != '\0' ||
        !g_utf8_validate_len(string, length, NULL))
        return FALSE;
    *out_string = string;
    reader->next += length + 1;
    reader->size -= length + 1;
    return TRUE;
}

/* `why`, and `for` if there is one; records of before have none. */
static gboolean
read_texts(Reader *reader, gsize length, const char **out_why, const char **out_command)
{
    const char *end = reader->size > length ? memchr(reader->next, '\0', length) : NULL;
    const gsize why_length = end != NULL ? (gsize)(end - reader->next) : length;

    *out_command = NULL;
    return read_string(reader, why_length, out_why) &&
           (end == NULL || read_string(reader, length - why_length - 1, out_command));
}

/* It has room to grow. */
static gboolean
is_counter(guint64 number)
{
    return number <= G_MAXINT64;
}

gboolean
record_read_agent(const Record *record,
                  PrincipalIdentity *out_identity,
                  const char **out_client_id,
                  guint32 *out_pid)
{
    const AgentRecord *agent = (const AgentRecord *)record;
    Reader reader = {(const char *)(agent + 1), record->size - sizeof *agent};

    if (agent->kind > PRINCIPAL_SNAP ||
        !read_string(&reader, agent->client_id_length, out_client_id) ||
        !read_string(&reader, agent->app_id_length, &out_identity->app_id) || reader.size > 7)
        return FALSE;
    out_identity->uid = agent->uid;
    out_identity->kind = (PrincipalKind)agent->kind;
    *out_pid = agent->pid;
    return (*out_client_id)[0] == ':' && is_counter(record->number) && agent->uid != G_MAXUINT32 &&
           (agent->kind == PRINCIPAL_UNSANDBOXED) == (agent->app_id_length == 0);
}

int
record_compare_sequences(gconstpointer a, gconstpointer b)
{
    guint64 x = (*(const RequestRecord *const *)a)->sequence;
    guint64 y = (*(const RequestRecord *const *)b)->sequence;

    return (x > y) - (x < y);
}

gboolean
record_read_request(const Record *record,
                    const char **out_bucket,
                    const char **out_name,
                    LockRequest *out_request)
{
    const RequestRecord *request = (const RequestRecord *)record;
    Reader reader = {(const char *)(request + 1), record->size - sizeof *request};
    const char *why, *command;

    if (!read_string(&reader, request->bucket_length, out_bucket) ||
        !read_string(&reader, request->name_length, out_name) ||
        !read_texts(&reader, request->texts_length, &why, &command) || reader.size > 7)
        return FALSE;
    *out_request = (LockRequest){
        .state = (LockRequestState)request->state,
        .mode = (LockMode)request->mode,
        .slots = MAX(request->slots, 1),
        .id = record->number,
        .key = request->key,
        .token = request->token,
        .sequence = request->sequence,
        .since_us = request->since_us,
        .deadline_ms = request->deadline_ms,
        .why = (char *)why,
        .command = (char *)command,
    };
    return (request->mode == LOCK_MODE_EXCLUSIVE ||
            (request->mode == LOCK_MODE_SHARED && request->slots <= 1)) &&
           request->state <= LOCK_REQUEST_HELD && is_counter(request->token) &&
           is_counter(request->sequence) && request->since_us >= 0 && request->deadline_ms >= 0 &&
           request->bucket_length > 0;
}
