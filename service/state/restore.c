/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "restore.h"

#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"

typedef struct {
    Agent *agent;
    guint64 agent_number;
    guint64 id;
    RequestRecord record;
} Restored;

typedef struct {
    UserAgent *user_agent;
    GPtrArray *agents;     /* of Agent */
    GHashTable *by_number; /* of the agent's record -> Agent */
    GHashTable *by_name;   /* of Agent.client_id */
    GArray *requests;      /* of Restored */
    gint64 deadline_us;    /* of the lease */
} Restore;

static gboolean
read_agent(Restore *self, const RawRecord *raw, guint64 number)
{
    Principal *principal;
    AgentRecord record;
    Agent *agent;

    if (!agent_record_read(raw->value, raw->value_size, &record) || number == 0 ||
        g_hash_table_contains(self->by_name, record.client_id))
        return FALSE;
    principal = principal_get(self->user_agent, &record.identity);
    agent = agent_restore(principal, record.client_id, record.id_ceiling);
    principal_unref(principal);
    agent->pid = record.pid;
    g_ptr_array_add(self->agents, agent);
    g_hash_table_insert(self->by_number, g_memdup2(&number, sizeof number), agent);
    g_hash_table_add(self->by_name, agent->client_id);
    return TRUE;
}

static gboolean
read_request(Restore *self, const RawRecord *raw, guint64 number, guint64 id)
{
    Restored restored = {
        .agent = g_hash_table_lookup(self->by_number, &number), .agent_number = number, .id = id};

    if (restored.agent == NULL ||
        !request_record_read(raw->value, raw->value_size, &restored.record))
        return FALSE;
    restored.record.parts.id = id;
    g_array_append_val(self->requests, restored);
    return TRUE;
}

static gboolean
read_record(Restore *self, const RawRecord *raw, RecordKind kind, guint64 number, guint64 id)
{
    if (kind == RECORD_AGENT)
        return read_agent(self, raw, number);
    if (kind == RECORD_LEASE)
        return lease_record_read(raw->value, raw->value_size, &self->deadline_us);
    return read_request(self, raw, number, id);
}

/* Agents come before requests, by their keys. */
static gboolean
read_records(Restore *self, const StateContents *contents)
{
    for (guint i = 0; i < contents->records->len; i++) {
        const RawRecord *record = &g_array_index(contents->records, RawRecord, i);
        guint64 number, id;
        RecordKind kind;

        if (!record_key_read(record->key, record->key_size, &kind, &number, &id) ||
            number > contents->header.last_agent)
            return FALSE;
        if (!read_record(self, record, kind, number, id))
            return FALSE;
    }
    return TRUE;
}

/* The order in which they were made, in each bucket. */
static int
compare_sequences(gconstpointer a, gconstpointer b)
{
    guint64 x = ((const Restored *)a)->record.parts.sequence;
    guint64 y = ((const Restored *)b)->record.parts.sequence;

    return (x > y) - (x < y);
}

static int
compare_ids(gconstpointer a, gconstpointer b, gpointer data)
{
    guint64 x = ((const LockRequest *)a)->id;
    guint64 y = ((const LockRequest *)b)->id;

    return (x > y) - (x < y);
}

/* As they are found, which is by agent and id. */
static gboolean
restore_request(const Restored *restored)
{
    LockManager *manager = lock_manager_get(restored->agent->principal, restored->record.bucket);
    const LockRequest *request;

    request = lock_manager_restore(manager, restored->agent, restored->record.name,
                                   &restored->record.parts);
    lock_manager_unref(manager);
    return request != NULL;
}

static gboolean
restore_requests(Restore *self, CrashGuard *guard, StateLost lost, gpointer data)
{
    g_array_sort(self->requests, compare_sequences);
    for (guint i = 0; i < self->requests->len; i++) {
        const Restored *restored = &g_array_index(self->requests, Restored, i);

        if (guard != NULL && crash_guard_skips(guard, restored->agent_number, restored->id))
            lost(restored->agent, restored->id, &restored->record, data);
        else if (!restore_request(restored))
            return FALSE;
    }
    /* An agent's are in the order of its own asking, whichever buckets it asked. */
    for (guint i = 0; i < self->agents->len; i++)
        g_queue_sort(&((Agent *)self->agents->pdata[i])->requests, compare_ids, NULL);
    return TRUE;
}

static void
undo(Restore *self)
{
    for (guint i = 0; i < self->agents->len; i++) {
        const Agent *agent = self->agents->pdata[i];
        LockRequest *request;

        while ((request = g_queue_peek_head((GQueue *)&agent->requests)) != NULL)
            lock_manager_end_request(request->queue->manager, request, EFFECT_LOST);
    }
    effects_clear(&self->user_agent->effects);
    g_clear_pointer(&self->agents, g_ptr_array_unref);
}

GPtrArray *
restore_records(UserAgent *user_agent,
                const StateContents *contents,
                CrashGuard *guard,
                StateLost lost,
                gpointer data,
                gint64 *out_deadline_us)
{
    Restore self = {
        .user_agent = user_agent,
        .agents = g_ptr_array_new_with_free_func((GDestroyNotify)agent_unref),
        .by_number = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
        .by_name = g_hash_table_new(g_str_hash, g_str_equal),
        .requests = g_array_new(FALSE, FALSE, sizeof(Restored)),
    };

    user_agent_retire_token(user_agent, contents->header.token_ceiling);
    if (!read_records(&self, contents) || !restore_requests(&self, guard, lost, data))
        undo(&self);
    g_hash_table_unref(self.by_number);
    g_hash_table_unref(self.by_name);
    g_array_unref(self.requests);
    *out_deadline_us = self.deadline_us;
    return self.agents;
}
