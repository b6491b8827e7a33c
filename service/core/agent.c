/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "agent.h"

#include "limit-accounts.h"
#include "lock-request.h"
#include "principal.h"
#include "user-agent.h"

Agent *
agent_restore(Principal *principal, const char *client_id, guint64 last_id)
{
    Agent *agent = g_new0(Agent, 1);

    limits_charge(principal->account, CHARGE_CLIENT, 1);
    agent->refs = 1;
    agent->principal = principal_ref(principal);
    agent->client_id = g_strdup(client_id);
    agent->last_id = last_id;
    agent->in_user_agent.data = agent;
    g_queue_push_tail_link(&principal->user_agent->agents, &agent->in_user_agent);
    g_queue_init(&agent->requests);
    agent->by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
    return agent;
}

LockResult
agent_new(Principal *principal, const char *client_id, Agent **out_agent)
{
    LimitId limit;

    if (!limits_admit(&principal->user_agent->limits, principal->account, CHARGE_CLIENT, 1, &limit))
        return lock_result_limit(limit);
    *out_agent = agent_restore(principal, client_id, 0);
    return LOCK_RESULT_OK;
}

Agent *
agent_ref(Agent *agent)
{
    agent->refs++;
    return agent;
}

void
agent_unref(Agent *agent)
{
    if (--agent->refs > 0)
        return;

    g_assert(agent->requests.length == 0);
    limits_discharge(agent->principal->account, CHARGE_CLIENT, 1);
    g_queue_unlink(&agent->principal->user_agent->agents, &agent->in_user_agent);
    g_hash_table_unref(agent->by_id);
    g_clear_pointer(&agent->by_key, g_hash_table_unref);
    principal_unref(agent->principal);
    g_free(agent->client_id);
    g_free(agent);
}

LockRequest *
agent_find_request(const Agent *agent, guint64 id)
{
    char *found = g_hash_table_lookup(agent->by_id, &id);

    return found != NULL ? (LockRequest *)(found - G_STRUCT_OFFSET(LockRequest, id)) : NULL;
}

LockRequest *
agent_find_key(const Agent *agent, guint64 key)
{
    char *found = NULL;

    if (key != 0 && agent->by_key != NULL)
        found = g_hash_table_lookup(agent->by_key, &key);
    return found != NULL ? (LockRequest *)(found - G_STRUCT_OFFSET(LockRequest, key)) : NULL;
}

void
agent_add_request(Agent *agent, LockRequest *request)
{
    g_queue_push_tail_link(&agent->requests, &request->in_agent);
    g_hash_table_add(agent->by_id, &request->id);
    if (request->key != 0) {
        if (agent->by_key == NULL)
            agent->by_key = g_hash_table_new(g_int64_hash, g_int64_equal);
        g_hash_table_add(agent->by_key, &request->key);
    }
    limits_charge(agent->principal->account, CHARGE_REQUEST, 1);
    limits_charge(agent->principal->account, CHARGE_TEXT_BYTE,
                  lock_request_get_text_bytes(request));
}

void
agent_remove_request(Agent *agent, LockRequest *request)
{
    g_queue_unlink(&agent->requests, &request->in_agent);
    g_hash_table_remove(agent->by_id, &request->id);
    if (request->key != 0)
        g_hash_table_remove(agent->by_key, &request->key);
    limits_discharge(agent->principal->account, CHARGE_REQUEST, 1);
    limits_discharge(agent->principal->account, CHARGE_TEXT_BYTE,
                     lock_request_get_text_bytes(request));
}
