/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "restore.h"

#include <stdlib.h>

#include "crash-guard.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "records.h"

static const char inconsistent[] = "the state is inconsistent";

typedef struct {
    UserAgent *user_agent;
    GHashTable *agents;   /* of &AgentMark.number -> Agent, owned */
    GHashTable *by_name;  /* of Agent.client_id */
    GHashTable *requests; /* of Record, by agent and id: the last one of each live request */
    StateNumbers numbers;
    StateLost lost;
    gpointer data;
} Restore;

/* ---- the records, in the order in which they were written */

static guint
hash_record(gconstpointer key)
{
    const Record *record = key;

    return (guint)(record->agent * 0x9e3779b1u + record->number);
}

static gboolean
is_same_record(gconstpointer a, gconstpointer b)
{
    const Record *x = a, *y = b;

    return x->agent == y->agent && x->number == y->number;
}

static gboolean
restore_agent(Restore *self, const Record *record)
{
    Agent *agent = g_hash_table_lookup(self->agents, &record->agent);
    PrincipalIdentity identity;
    Principal *principal;
    const char *client_id;
    guint32 pid;

    if (!record_read_agent(record, &identity, &client_id, &pid) || record->agent == 0 ||
        record->agent > G_MAXINT64 || g_hash_table_lookup(self->by_name, client_id) != agent)
        return FALSE;
    if (agent == NULL) {
        principal = principal_get(self->user_agent, &identity);
        agent = agent_restore(principal, client_id, record->number);
        principal_unref(principal);
        agent->pid = pid;
        agent->mark.number = record->agent;
        g_hash_table_insert(self->agents, &agent->mark.number, agent);
        g_hash_table_insert(self->by_name, agent->client_id, agent);
        self->numbers.last_agent = MAX(self->numbers.last_agent, record->agent);
    }
    agent->last_id = agent->mark.id_ceiling = record->number;
    return TRUE;
}

static gboolean
forget_agent(Restore *self, const Record *record)
{
    const Agent *agent = g_hash_table_lookup(self->agents, &record->agent);

    if (agent == NULL)
        return FALSE;
    g_hash_table_remove(self->by_name, agent->client_id);
    return g_hash_table_remove(self->agents, &record->agent);
}

static gboolean
take_record(Restore *self, const Record *record)
{
    switch (record->kind) {
    case RECORD_AGENT:
        return restore_agent(self, record);
    case RECORD_AGENT_GONE:
        return forget_agent(self, record);
    case RECORD_REQUEST:
        g_hash_table_add(self->requests, (gpointer)record);
        return TRUE;
    case RECORD_REQUEST_ENDED:
        return g_hash_table_remove(self->requests, record);
    case RECORD_LEASE:
        self->numbers.deadline_us = (gint64)record->number;
        return self->numbers.deadline_us >= 0;
    case RECORD_TOKENS:
        if (record->number > G_MAXINT64)
            return FALSE;
        self->numbers.token_ceiling = record->number;
        return TRUE;
    default:
        return FALSE;
    }
}

static const char *
take_frames(Restore *self, LogReader *reader)
{
    const char *fault;
    const guint8 *bytes;
    gsize size;

    while ((fault = log_reader_next(reader, &bytes, &size)) == NULL && bytes != NULL) {
        while (size > 0) {
            const Record *record = record_next(&bytes, &size);

            if (record == NULL || !take_record(self, record))
                return inconsistent;
        }
    }
    return fault;
}

/* ---- the live requests */

static gboolean
restore_request(Restore *self, const Record *record)
{
    Agent *agent = g_hash_table_lookup(self->agents, &record->agent);
    const LockRequest *request;
    LockManager *manager;
    const char *bucket, *name;
    LockRequest stored;

    if (agent == NULL || !record_read_request(record, &bucket, &name, &stored))
        return FALSE;
    if (crash_guard_skips(record->agent, record->number)) {
        self->lost(agent, bucket, name, &stored, self->data);
        return TRUE;
    }
    manager = lock_manager_get(agent->principal, bucket);
    request = lock_manager_restore(manager, agent, name, &stored);
    lock_manager_unref(manager);
    return request != NULL;
}

static int
compare_ids(gconstpointer a, gconstpointer b, gpointer data)
{
    guint64 x = ((const LockRequest *)a)->id;
    guint64 y = ((const LockRequest *)b)->id;

    return (x > y) - (x < y);
}

/* In the order in which they were made in each bucket; then those of each agent in the order of its
 * own requests, whichever buckets they are in. */
static gboolean
restore_requests(Restore *self)
{
    guint n_records;
    g_autofree gpointer *records = g_hash_table_get_keys_as_array(self->requests, &n_records);
    GHashTableIter iter;
    Agent *agent;

    qsort(records, n_records, sizeof *records, record_compare_sequences);
    for (guint i = 0; i < n_records; i++)
        if (!restore_request(self, records[i]))
            return FALSE;
    crash_guard_skips(0, 0);
    g_hash_table_iter_init(&iter, self->agents);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&agent))
        g_queue_sort(&agent->requests, compare_ids, NULL);
    return TRUE;
}

/* Ends the requests that were restored; the agents end with the table. */
static void
undo(Restore *self)
{
    GHashTableIter iter;
    LockRequest *request;
    Agent *agent;

    g_hash_table_iter_init(&iter, self->agents);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&agent))
        while ((request = g_queue_peek_head(&agent->requests)) != NULL)
            lock_manager_end_request(request->queue->manager, request, EFFECT_LOST);
    effects_clear(&self->user_agent->effects);
}

static GPtrArray *
ref_agents(const UserAgent *user_agent)
{
    GPtrArray *agents = g_ptr_array_new_with_free_func((GDestroyNotify)agent_unref);

    for (const GList *link = user_agent->agents.head; link != NULL; link = link->next)
        g_ptr_array_add(agents, agent_ref(link->data));
    return agents;
}

GPtrArray *
restore_all(UserAgent *user_agent,
            LogReader *reader,
            StateLost lost,
            gpointer data,
            StateNumbers *out_numbers,
            const char **out_fault)
{
    Restore self = {
        .user_agent = user_agent,
        .agents =
            g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, (GDestroyNotify)agent_unref),
        .by_name = g_hash_table_new(g_str_hash, g_str_equal),
        .requests = g_hash_table_new(hash_record, is_same_record),
        .lost = lost,
        .data = data,
    };
    GPtrArray *agents = NULL;

    *out_fault = take_frames(&self, reader);
    if (*out_fault == NULL || *out_fault == inconsistent)
        user_agent_retire_token(user_agent, self.numbers.token_ceiling);
    if (*out_fault == NULL && !restore_requests(&self))
        *out_fault = inconsistent;
    if (*out_fault == NULL)
        agents = ref_agents(user_agent);
    else
        undo(&self);
    g_hash_table_unref(self.by_name);
    g_hash_table_unref(self.agents);
    g_hash_table_unref(self.requests);
    *out_numbers = self.numbers;
    return agents;
}
