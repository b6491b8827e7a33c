/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client.h"

#include "lock-manager.h"
#include "principal.h"

static void
client_free(gpointer data)
{
    Client *client = data;
    Session *session = client->session;

    session->client_free(client);
    call_queue_clear(&client->deferred);
    if (client->in_runnable.data != NULL)
        g_queue_unlink(&session->turn.runnable, &client->in_runnable);
    if (client->agent != NULL) {
        client->agent->server_data = NULL;
        agent_unref(client->agent);
    }
    g_free(client->gids);
    g_free(client->unique_name);
    g_free(client);
}

void
session_init(Session *session, const Limits *limits)
{
    user_agent_init(&session->user_agent, limits);
    session->clients = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, client_free);
}

void
session_fini(Session *session)
{
    effects_clear(&session->user_agent.effects);
    g_hash_table_remove_all(session->clients);
    g_hash_table_unref(session->clients);
    user_agent_fini(&session->user_agent);
}

void
session_tick(Session *session)
{
    user_agent_set_time(&session->user_agent, g_get_monotonic_time(), g_get_real_time());
}

Client *
session_find_client(const Session *session, const char *unique_name)
{
    return g_hash_table_lookup(session->clients, unique_name);
}

Client *
session_add_client(Session *session, const char *unique_name, const Channel *channel)
{
    Client *client = g_new0(Client, 1);

    client->session = session;
    client->unique_name = g_strdup(unique_name);
    client->channel = client->default_channel = channel;
    call_queue_init(&client->deferred, &session->deferred);
    g_queue_init(&client->watches);
    g_hash_table_insert(session->clients, client->unique_name, client);
    return client;
}

void
session_remove_client(Client *client)
{
    g_hash_table_remove(client->session->clients, client->unique_name);
}

void
client_set_agent(Client *client, Agent *agent)
{
    client->agent = agent;
    agent->server_data = client;
    call_queue_set_account(&client->deferred, agent->principal->account);
}

PrincipalIdentity
client_get_owner(const Client *client, const LockCall *call)
{
    PrincipalIdentity identity = call->owner.identity;

    if (!call->owner.is_other)
        return client->agent->principal->identity;
    if (!call->owner.has_uid)
        identity.uid = client->agent->principal->identity.uid;
    return identity;
}

LockManager *
client_find_manager(const Client *client, const LockCall *call)
{
    PrincipalIdentity identity;
    const Principal *principal;

    if (!call->owner.is_other)
        return lock_manager_find(client->agent->principal, call->bucket);
    identity = client_get_owner(client, call);
    principal = principal_find(&client->session->user_agent, &identity);
    return principal != NULL ? lock_manager_find(principal, call->bucket) : NULL;
}
