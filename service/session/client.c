/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client.h"

#include <string.h>

#include "bus-names.h"
#include "lock-manager.h"
#include "principal.h"

static void
client_free(gpointer data)
{
    Client *client = data;
    Server *server = client->server;

    server->client_free(client);
    client_drop_deferred(client);
    if (client->in_runnable.data != NULL)
        g_queue_unlink(&server->turn.runnable, &client->in_runnable);
    if (client->agent != NULL) {
        client->agent->server_data = NULL;
        agent_unref(client->agent);
    }
    g_free(client->gids);
    g_free(client->unique_name);
    g_free(client);
}

void
server_init(Server *server, const Limits *limits)
{
    user_agent_init(&server->user_agent, limits);
    server->clients = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, client_free);
}

void
server_fini(Server *server)
{
    effects_clear(&server->user_agent.effects);
    g_hash_table_remove_all(server->clients);
    g_hash_table_unref(server->clients);
    user_agent_fini(&server->user_agent);
}

Client *
server_find_client(const Server *server, const char *unique_name)
{
    return g_hash_table_lookup(server->clients, unique_name);
}

Client *
server_add_client(Server *server, const char *unique_name, const Channel *channel)
{
    Client *client = g_new0(Client, 1);

    client->server = server;
    client->unique_name = g_strdup(unique_name);
    client->channel = client->default_channel = channel;
    g_queue_init(&client->deferred);
    g_queue_init(&client->watches);
    g_queue_init(&client->documents);
    g_hash_table_insert(server->clients, client->unique_name, client);
    return client;
}

void
server_remove_client(Client *client)
{
    g_hash_table_remove(client->server->clients, client->unique_name);
}

void
client_set_agent(Client *client, Agent *agent)
{
    client->agent = agent;
    agent->server_data = client;
}

/* ---- deferred calls */

gboolean
client_may_defer(const Client *client)
{
    return client->n_bytes_deferred < client->server->user_agent.limits.max[LIMIT_BYTES_WAITING];
}

void
client_defer(Client *client, const LockCall *call)
{
    LockCall *copy = lock_call_copy(call, &client->server->user_agent.limits);

    g_queue_push_tail(&client->deferred, copy);
    client->n_bytes_deferred += copy->n_bytes;
    client->server->n_bytes_deferred += copy->n_bytes;
}

LockCall *
client_take_deferred(Client *client)
{
    LockCall *call = g_queue_pop_head(&client->deferred);

    if (call == NULL)
        return NULL;
    client->n_bytes_deferred -= call->n_bytes;
    client->server->n_bytes_deferred -= call->n_bytes;
    return call;
}

void
client_drop_deferred(Client *client)
{
    LockCall *call;

    while ((call = client_take_deferred(client)) != NULL)
        lock_call_free(call);
}

/* No user has the uid that stands for clients that are not identified. */
static gpointer
get_uid(const Client *client)
{
    return GUINT_TO_POINTER(client->agent != NULL ? client->agent->principal->identity.uid
                                                  : G_MAXUINT32);
}

Client *
server_find_greatest(const Server *server)
{
    g_autoptr(GHashTable) sums = g_hash_table_new(NULL, NULL); /* uid -> deferred bytes */
    Client *client, *greatest = NULL;
    GHashTableIter iter;
    gsize sum, max = 0;

    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client)) {
        sum = GPOINTER_TO_SIZE(g_hash_table_lookup(sums, get_uid(client)));
        g_hash_table_insert(sums, get_uid(client),
                            GSIZE_TO_POINTER(sum + client->n_bytes_deferred));
    }
    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client)) {
        sum = GPOINTER_TO_SIZE(g_hash_table_lookup(sums, get_uid(client)));
        if (sum > max || (greatest != NULL && get_uid(client) == get_uid(greatest) &&
                          client->n_bytes_deferred > greatest->n_bytes_deferred)) {
            greatest = client;
            max = sum;
        }
    }
    return greatest;
}

/* ---- whose bucket a call is about */

LockManager *
target_find_manager(const Target *target)
{
    if (target->principal == NULL)
        return NULL;
    return g_str_has_prefix(target->bucket, BUS_PUBLIC_PREFIX)
               ? lock_manager_find_session(target->principal, target->bucket)
               : lock_manager_find(target->principal, target->bucket);
}

gboolean
client_is_member(const Client *client, guint32 gid)
{
    const PrincipalIdentity *identity = &client->agent->principal->identity;

    if (identity->kind != PRINCIPAL_UNSANDBOXED)
        return FALSE;
    for (gsize i = 0; i < client->n_gids; i++)
        if (client->gids[i] == gid)
            return TRUE;
    return identity->uid == 0;
}

gboolean
client_is_admitted(const Client *client, const char *bucket)
{
    const PrincipalIdentity *identity = &client->agent->principal->identity;
    const ClusterBucketConfig *config =
        cluster_config_find(client->server->cluster_config, bucket + strlen(BUS_CLUSTER_PREFIX));

    return identity->kind == PRINCIPAL_UNSANDBOXED &&
           cluster_bucket_config_admits(config, identity->uid, client->gids, client->n_gids);
}

gboolean
client_may_observe(const Client *client, const Principal *observed)
{
    const PrincipalIdentity *identity = &observed->identity;

    return principal_may_observe(client->agent->principal, observed) ||
           (identity->kind == PRINCIPAL_GROUP && client_is_member(client, identity->uid)) ||
           (identity->kind == PRINCIPAL_CLUSTER && client_is_admitted(client, identity->app_id));
}
