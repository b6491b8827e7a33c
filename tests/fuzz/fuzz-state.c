/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The records of a state file, as they come through the pipe of service/state/reader.c.
 *
 * An input's first byte selects the format, see `Manner`. Framed records are used as they are, and
 * the header is computed for them: so the digest doesn't prevent them from being decoded and
 * restored. Operations are then made on the restored state, and at the end nothing may be left. */

#include <stdint.h>
#include <string.h>

#include "service/core/agent.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/user-agent.h"
#include "service/state/reader.h"
#include "service/state/restore.h"
#include "tests/fuzz/fuzz.h"

typedef enum {
    IS_RAW = 1 << 0,       /* the bytes are those of the pipe, including the header */
    IS_LATE = 1 << 1,      /* all deadlines have passed */
    ENDS_FIRST = 1 << 2,   /* the first agent has disconnected meanwhile */
    ENDS_LAST = 1 << 3,    /* likewise the last one */
    ASKS = 1 << 4,         /* the first agent requests the others' locks */
    STEALS = 1 << 5,       /* and steals them */
    SKIPS_SECOND = 1 << 6, /* the second request is one that was being restored in crashes */
} Manner;

/* As in reader.c. */
typedef struct {
    guint32 key_size;
    guint32 value_size;
} Frame;

/* Of a framed input; then, for each record, the sizes of key (1) and value (2), the key and the
 * value. */
typedef struct {
    guint64 token_ceiling;
    guint64 last_agent;
} Head;

static void
append_record(
    GByteArray *stream, const void *key, gsize key_size, const void *value, gsize value_size)
{
    const Frame frame = {(guint32)key_size, (guint32)value_size};

    g_byte_array_append(stream, (const guint8 *)&frame, sizeof frame);
    if (key_size > 0)
        g_byte_array_append(stream, key, frame.key_size);
    if (value_size > 0)
        g_byte_array_append(stream, value, frame.value_size);
}

/* Adds the records to `records`; the header's count and digest are computed from them. */
static void
take_frames(const uint8_t *data, size_t size, GByteArray *records, HeaderRecord *header)
{
    while (size >= 3) {
        gsize key_size = data[0], value_size = data[1] + 256u * data[2];

        data += 3;
        size -= 3;
        if (key_size == 0 || key_size > size)
            return;
        value_size = MIN(value_size, size - key_size);
        /* A key of one byte would be read as the header. */
        if (key_size > 1) {
            append_record(records, data, key_size, data + key_size, value_size);
            header->n_records++;
            header->digest += record_digest(data, key_size, data + key_size, value_size);
        }
        data += key_size + value_size;
        size -= key_size + value_size;
    }
}

static GByteArray *
make_stream(const uint8_t *data, size_t size)
{
    g_autoptr(GByteArray) records = g_byte_array_new();
    g_autoptr(GByteArray) header_bytes = g_byte_array_new();
    GByteArray *stream = g_byte_array_new();
    HeaderRecord header = {0};
    Head head = {0};

    memcpy(&head, data, MIN(size, sizeof head));
    take_frames(data + MIN(size, sizeof head), size - MIN(size, sizeof head), records, &header);
    header.token_ceiling = head.token_ceiling & G_MAXINT64;
    header.last_agent = head.last_agent & G_MAXINT64;
    header_record_write(&header, header_bytes);
    append_record(stream, "H", 1, header_bytes->data, header_bytes->len);
    if (records->len > 0)
        g_byte_array_append(stream, records->data, records->len);
    append_record(stream, NULL, 0, NULL, 0);
    return stream;
}

/* ---- the restored state */

static void
on_lost(Agent *agent, guint64 id, const RequestRecord *record, gpointer data)
{
    g_assert(agent->client_id[0] == ':');
    g_assert(record->name != NULL && record->bucket[0] != '\0');
}

/* Assertions about any restored agent. */
static void
check_agent(const Agent *agent)
{
    guint64 last_id = 0;

    for (const GList *link = agent->requests.head; link != NULL; link = link->next) {
        const LockRequest *request = link->data;
        const LockQueue *queue = request->queue;

        g_assert(request->id > last_id && request->id <= agent->last_id);
        last_id = request->id;
        g_assert((request->state == LOCK_REQUEST_HELD) == (request->token != 0));
        g_assert(request->token <= queue->manager->last_token);
        g_assert(queue->manager->principal == agent->principal);
        if (request->state == LOCK_REQUEST_HELD && request->mode == LOCK_MODE_EXCLUSIVE)
            g_assert(queue->held.length == 1);
        g_assert(queue->pending.length == 0 || queue->held.length > 0);
    }
}

static void
ask(Agent *agent, const Agent *other, gboolean steals)
{
    const LockOptions options = {.mode = LOCK_MODE_EXCLUSIVE, .steal = steals, .why = ""};
    const LockRequest *wanted = other->requests.head != NULL ? other->requests.head->data : NULL;
    g_autoptr(LockManager) manager = NULL;
    g_autofree char *name = NULL;
    LockRequest *request;

    if (wanted == NULL || agent->terminated)
        return;
    name = g_strdup(wanted->queue->name);
    manager = lock_manager_get(agent->principal, wanted->queue->manager->bucket);
    (void)lock_manager_request(manager, agent, name, &options, &request);
}

static void
live(UserAgent *user_agent, GPtrArray *agents, unsigned manner)
{
    Agent *first, *last;

    if (agents->len == 0)
        return;
    first = agents->pdata[0];
    last = agents->pdata[agents->len - 1];
    if (manner & IS_LATE)
        user_agent_set_time(user_agent, G_MAXINT64 / 4, 0);
    user_agent_expire(user_agent);
    if (manner & ENDS_FIRST)
        user_agent_terminate(user_agent, first);
    if (last != first && manner & ENDS_LAST)
        user_agent_terminate(user_agent, last);
    user_agent_process_all(user_agent);
    for (guint i = 0; i < agents->len; i++)
        check_agent(agents->pdata[i]);
    for (guint i = 0; i < agents->len && manner & (ASKS | STEALS); i++)
        ask(first, agents->pdata[i], (manner & STEALS) != 0);
    for (guint i = 0; i < agents->len; i++)
        check_agent(agents->pdata[i]);
    (void)user_agent_get_next_deadline_ms(user_agent);
}

static void
end(UserAgent *user_agent, GPtrArray *agents)
{
    for (guint i = 0; i < agents->len; i++) {
        Agent *agent = agents->pdata[i];

        if (!agent->terminated)
            user_agent_terminate(user_agent, agent);
    }
    effects_clear(&user_agent->effects);
    g_ptr_array_unref(agents);
}

/* The record of three crashes at that request; without a file. */
static CrashGuard
make_marks(const StateContents *contents)
{
    CrashGuard guard = {.fd = -1};
    guint n_requests = 0;

    for (guint i = 0; i < contents->records->len && n_requests < 2; i++) {
        const RawRecord *record = &g_array_index(contents->records, RawRecord, i);
        guint64 agent, id;
        RecordKind kind;

        if (!record_key_read(record->key, record->key_size, &kind, &agent, &id) ||
            kind != RECORD_REQUEST)
            continue;
        n_requests++;
        guard.marks.bad_agent = agent;
        guard.marks.bad_id = id;
        guard.marks.n_deaths = 3;
    }
    return guard;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(StateContents) contents = NULL;
    unsigned manner = size > 0 ? data[0] : 0;
    GPtrArray *agents;
    UserAgent user_agent;
    gint64 deadline_us;
    CrashGuard guard;
    GByteArray *stream;
    Limits limits;

    if (size < 1)
        return 0;
    if (manner & IS_RAW)
        stream = g_byte_array_append(g_byte_array_new(), data + 1, (guint)size - 1);
    else
        stream = make_stream(data + 1, size - 1);
    contents = reader_decode(stream, NULL);
    g_assert(contents != NULL || manner & IS_RAW);
    if (contents == NULL)
        return 0;

    limits_init(&limits);
    user_agent_init(&user_agent, &limits);
    user_agent_set_time(&user_agent, 1000000, 1000000);
    guard = make_marks(contents);
    agents = restore_records(&user_agent, contents, manner & SKIPS_SECOND ? &guard : NULL, on_lost,
                             NULL, &deadline_us);
    if (agents != NULL) {
        live(&user_agent, agents, manner);
        end(&user_agent, agents);
    }
    user_agent_fini(&user_agent);
    return 0;
}
