/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "restore.h"

#include <stdlib.h>

#include "crash-guard.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "records.h"

typedef struct {
    UserAgent *user_agent;
    GHashTable *agents;   /* of &AgentMark.number -> Agent, owned */
    GHashTable *requests; /* of Record, by agent and id: the last one of each live request */
    ClosedCells *cells;   /* NULL: there are none */
    Restored *restored;
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
    StateNumbers *numbers = &self->restored->numbers;
    PrincipalIdentity identity;
    Principal *principal;
    const char *client_id;
    guint32 pid;

    if (!record_read_agent(record, &identity, &client_id, &pid) || record->agent == 0 ||
        record->agent > G_MAXINT64 || (agent != NULL && !g_str_equal(agent->client_id, client_id)))
        return FALSE;
    if (agent == NULL) {
        principal = principal_get(self->user_agent, &identity);
        agent = agent_restore(principal, client_id, record->number);
        principal_unref(principal);
        agent->pid = pid;
        agent->mark.number = record->agent;
        g_hash_table_insert(self->agents, &agent->mark.number, agent);
        numbers->last_agent = MAX(numbers->last_agent, record->agent);
    }
    agent->last_id = agent->mark.id_ceiling = record->number;
    return TRUE;
}

static gboolean
take_record(Restore *self, const Record *record)
{
    StateNumbers *numbers = &self->restored->numbers;

    switch (record->kind) {
    case RECORD_AGENT:
        return restore_agent(self, record);
    case RECORD_AGENT_GONE:
        return g_hash_table_remove(self->agents, &record->agent);
    case RECORD_REQUEST:
        g_hash_table_add(self->requests, (gpointer)record);
        return TRUE;
    case RECORD_REQUEST_ENDED:
        return g_hash_table_remove(self->requests, record);
    case RECORD_LEASE:
        numbers->deadline_us = (gint64)record->number;
        return numbers->deadline_us >= 0;
    case RECORD_DOCUMENT_KEY:
        self->user_agent->document_key[0] = record->agent;
        self->user_agent->document_key[1] = record->number;
        return TRUE;
    case RECORD_TOKENS:
        if (record->number > G_MAXINT64)
            return FALSE;
        numbers->token_ceiling = record->number;
        return TRUE;
    default:
        return FALSE;
    }
}

static gboolean
take_records(Restore *self, const guint8 *bytes, gsize size)
{
    const Record *record;

    while (size > 0)
        if ((record = record_next(&bytes, &size)) == NULL || !take_record(self, record))
            return FALSE;
    return TRUE;
}

/* ---- the live requests */

static gboolean
restore_in(const PrincipalIdentity *owner,
           Agent *agent,
           const char *bucket,
           const char *name,
           const LockRequest *stored)
{
    g_autoptr(LockManager) manager =
        user_agent_get_manager(agent->principal->user_agent, owner, bucket);

    return lock_manager_restore(manager, agent, name, stored) != NULL;
}

/* Replaces what is stored of a lock with what its client has made of it, if it has had a cell.
 * Returns FALSE if it is over: it was parked. If the cell is not there, its client was never told
 * of it, or somebody has removed the file: then it is held until its client releases it. */
static gboolean
apply_cell(const Restore *self, const Record *record, LockRequest *stored)
{
    const LockCellClosed *closed =
        self->cells != NULL
            ? closed_cells_find(self->cells, record->agent, record->number, stored->key)
            : NULL;

    if (closed == NULL)
        return TRUE;
    cell_apply(closed, self->restored->numbers.token_ceiling, self->user_agent->now_us, stored);
    return closed->is_held;
}

/* A request of a bucket that is shared since this start may contradict those of other users: then
 * it is restored where it was, to be lost. */
static gboolean
restore_request(Restore *self, const Record *record)
{
    Agent *agent = g_hash_table_lookup(self->agents, &record->agent);
    const PrincipalIdentity *own;
    const char *bucket, *name;
    PrincipalIdentity owner;
    LockRequest stored;

    if (agent == NULL || !record_read_request(record, &bucket, &name, &stored))
        return FALSE;
    if (stored.state == LOCK_REQUEST_HELD && !apply_cell(self, record, &stored))
        return TRUE;
    if (crash_guard_skips(record->agent, record->number)) {
        self->restored->lost.agent = agent;
        self->restored->lost.id = stored.id;
        self->restored->lost.mode = stored.mode;
        self->restored->lost.bucket = bucket;
        self->restored->lost.name = name;
        return TRUE;
    }
    own = &agent->principal->identity;
    owner = principal_identity_of_bucket(self->user_agent, own, &bucket);
    return restore_in(&owner, agent, bucket, name, &stored) ||
           (owner.kind == PRINCIPAL_CLUSTER && restore_in(own, agent, bucket, name, &stored));
}

static int
compare_ids(gconstpointer a, gconstpointer b, gpointer data)
{
    guint64 x = ((const LockRequest *)a)->id;
    guint64 y = ((const LockRequest *)b)->id;

    return (x > y) - (x < y);
}

/* In the order in which they were made in each bucket. */
static gboolean
restore_requests(Restore *self)
{
    guint n_records;
    g_autofree gpointer *records = g_hash_table_get_keys_as_array(self->requests, &n_records);

    qsort(records, n_records, sizeof *records, record_compare_sequences);
    for (guint i = 0; i < n_records; i++)
        if (!restore_request(self, records[i]))
            return FALSE;
    crash_guard_skips(0, 0);
    return TRUE;
}

/* Lists the agents, each of which is another client, with their requests in the order of its own,
 * whichever buckets they are in. */
static gboolean
list_agents(Restore *self)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    gboolean are_different = TRUE;

    for (const GList *link = self->user_agent->agents.head; link != NULL; link = link->next) {
        Agent *agent = link->data;

        g_queue_sort(&agent->requests, compare_ids, NULL);
        g_ptr_array_add(self->restored->agents, agent_ref(agent));
        are_different = g_hash_table_add(names, agent->client_id) && are_different;
    }
    return are_different;
}

gboolean
restore_all(
    Restored *restored, UserAgent *user_agent, ClosedCells *cells, guint8 *records, gsize size)
{
    Restore self = {
        .user_agent = user_agent,
        .agents =
            g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, (GDestroyNotify)agent_unref),
        .requests = g_hash_table_new(hash_record, is_same_record),
        .cells = cells,
        .restored = restored,
    };
    gboolean is_consistent;

    *restored = (Restored){
        .records = records,
        .agents = g_ptr_array_new_with_free_func((GDestroyNotify)agent_unref),
    };
    is_consistent = take_records(&self, records, size);
    user_agent_retire_token(user_agent, restored->numbers.token_ceiling);
    is_consistent = is_consistent && restore_requests(&self);
    is_consistent = list_agents(&self) && is_consistent;
    g_hash_table_unref(self.agents);
    g_hash_table_unref(self.requests);
    if (!is_consistent) {
        restored_undo(restored, user_agent);
        g_ptr_array_set_size(restored->agents, 0);
        restored->numbers = (StateNumbers){0};
        restored->lost.agent = NULL; /* freed */
    }
    return is_consistent;
}

void
restored_undo(const Restored *restored, UserAgent *user_agent)
{
    LockRequest *request;

    for (guint i = 0; i < restored->agents->len; i++) {
        Agent *agent = restored->agents->pdata[i];

        while ((request = g_queue_peek_head(&agent->requests)) != NULL)
            lock_manager_end_request(request->queue->manager, request, EFFECT_LOST);
    }
    effects_clear(&user_agent->effects);
}

void
restored_clear(Restored *restored)
{
    g_clear_pointer(&restored->agents, g_ptr_array_unref);
    g_clear_pointer(&restored->records, g_free);
}
