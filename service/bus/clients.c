/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/clients.h"

#include "common/wire-names.h"
#include "service/bus/announce.h"
#include "service/bus/descriptors.h"
#include "service/bus/peers.h"
#include "service/bus/replies.h"
#include "service/bus/watchers.h"
#include "service/core/principal.h"
#include "service/fault.h"
#include "service/state/state.h"

/* A call in `deferred`. */
typedef struct {
    sd_bus_message *call;
    guint64 position;
} DeferredCall;

static void
deferred_call_free(gpointer data)
{
    DeferredCall *deferred = data;

    sd_bus_message_unref(deferred->call);
    g_free(deferred);
}

static void
client_free(gpointer data)
{
    Client *client = data;

    if (client->agent == NULL)
        client->edge->clients->n_unidentified--;
    watchers_remove_client(client);
    peers_remove_client(client);
    g_clear_pointer(&client->lookup, credentials_lookup_free);
    g_queue_clear_full(&client->deferred, deferred_call_free);
    if (client->agent != NULL) {
        client->agent->edge_data = NULL;
        agent_unref(client->agent);
    }
    g_free(client->unique_name);
    g_free(client);
}

Clients *
clients_new(ClientsServe serve)
{
    Clients *clients = g_new0(Clients, 1);

    clients->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, client_free);
    clients->serve = serve;
    return clients;
}

static void
lose_everything(Edge *edge)
{
    GHashTableIter iter;
    Client *client;

    edge_tick(edge);
    user_agent_shut_down(&edge->user_agent);
    g_hash_table_iter_init(&iter, edge->clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(&edge->user_agent, client->agent);
}

/* By the bus they came, and so they are answered. */
static void
serve_first(Client *client)
{
    DeferredCall *deferred = g_queue_pop_head(&client->deferred);

    client->link = &client->edge->bus_link; /* whatever the one before has opened */
    client->edge->clients->serve(client, deferred->call);
    deferred_call_free(deferred);
}

/* They take effect no more, so they need not wait either. */
static void
answer_deferred(Edge *edge)
{
    GHashTableIter iter;
    Client *client;

    g_hash_table_iter_init(&iter, edge->clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        while (client->agent != NULL && !g_queue_is_empty(&client->deferred))
            serve_first(client);
}

void
clients_serve_deferred(Edge *edge)
{
    GHashTableIter iter;
    Client *client;

    g_hash_table_iter_init(&iter, edge->clients->by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL && !g_queue_is_empty(&client->deferred))
            peers_serve_deferred(client);
}

void
clients_lose_everything(Edge *edge)
{
    lose_everything(edge);
    announce_effects(edge);
    answer_deferred(edge);
}

void
clients_free(Edge *edge)
{
    lose_everything(edge);
    effects_clear(&edge->user_agent.effects);
    g_hash_table_unref(edge->clients->by_name);
    sd_bus_slot_unref(edge->clients->name_owner_changed);
    g_clear_pointer(&edge->clients, g_free);
}

/* [2.6] The agent has terminated. */
static void
remove_client(Client *client)
{
    Edge *edge = client->edge;

    watchers_remove_client(client);
    peers_close(client);
    if (client->agent != NULL) {
        edge_tick(edge);
        user_agent_terminate(&edge->user_agent, client->agent);
        client->agent->edge_data = NULL;
        announce_effects(edge);
        if (edge->state != NULL)
            state_note_agent_gone(edge->state, client->agent);
    }
    g_hash_table_remove(edge->clients->by_name, client->unique_name);
}

static int
on_name_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Edge *edge = userdata;
    const char *name, *old_owner, *new_owner;
    Client *client;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0)
        return 0;
    if (name[0] != ':' || new_owner[0] != '\0')
        return 0;

    client = g_hash_table_lookup(edge->clients->by_name, name);
    if (client != NULL && client->peer != NULL && fault_is(FAULT_SOCKET_OUTLIVES_NAME))
        return 0;
    if (client != NULL) {
        if (edge->verbose)
            g_debug("%s has left the bus", name);
        /* There is no order between the bus and a private socket. What was sent before the end
         * takes effect before it, the calls that wait too. */
        if (!fault_is(FAULT_TERMINATE_BEFORE_DRAIN))
            peers_read_last(client);
        remove_client(client);
    }
    return 0;
}

int
clients_subscribe(Edge *edge)
{
    /* Only names that nobody has any more: the bus filters the rest. */
    return sd_bus_add_match(edge->bus_link.bus, &edge->clients->name_owner_changed,
                            "type='signal',"
                            "sender='" WIRE_DRIVER_NAME "',"
                            "path='" WIRE_DRIVER_PATH "',"
                            "interface='" WIRE_DRIVER_INTERFACE "',"
                            "member='NameOwnerChanged',"
                            "arg2=''",
                            on_name_owner_changed, edge);
}

/* Answers what has waited with an error and forgets the client; it may ask again. */
static void
refuse_client(Client *client, LockResult result)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    DeferredCall *deferred;

    replies_set_result(&error, client->edge, result);
    while ((deferred = g_queue_pop_head(&client->deferred)) != NULL) {
        replies_put_error(client->link, deferred->call, &error);
        deferred_call_free(deferred);
    }
    sd_bus_error_free(&error);
    remove_client(client);
}

static LockResult
make_agent(Client *client, const Credentials *credentials)
{
    PrincipalIdentity identity;
    Principal *principal;
    LockResult result;

    if (credentials == NULL)
        return LOCK_RESULT_UNIDENTIFIED;
    identity = credentials->identity;
    if (fault_is(FAULT_USERS_ARE_ONE))
        identity.uid = 0;
    principal = principal_get(&client->edge->user_agent, &identity);
    result = agent_new(principal, client->unique_name, &client->agent);
    principal_unref(principal);
    return result;
}

static void
on_identified(const Credentials *credentials, gpointer data)
{
    Client *client = data;
    Edge *edge = client->edge;
    LockResult result = make_agent(client, credentials);

    if (result != LOCK_RESULT_OK) {
        refuse_client(client, result);
        return;
    }

    edge->clients->n_unidentified--;
    client->agent->edge_data = client;
    client->agent->pid = credentials->pid;
    g_clear_pointer(&client->lookup, credentials_lookup_free);
    while (clients_serve_due(client))
        ;
}

static Client *
client_new(Edge *edge, const char *unique_name)
{
    Client *client = g_new0(Client, 1);

    client->edge = edge;
    client->link = &edge->bus_link;
    client->unique_name = g_strdup(unique_name);
    g_queue_init(&client->deferred);
    g_queue_init(&client->watches);
    return client;
}

void
clients_restore(Edge *edge, Agent *agent)
{
    Client *client = client_new(edge, agent->client_id);

    client->agent = agent_ref(agent);
    agent->edge_data = client;
    g_hash_table_insert(edge->clients->by_name, client->unique_name, client);
}

Client *
clients_get(Edge *edge, const char *unique_name)
{
    Client *client = g_hash_table_lookup(edge->clients->by_name, unique_name);

    if (client != NULL)
        return client;

    client = client_new(edge, unique_name);
    edge->clients->n_unidentified++;
    client->lookup = principals_look_up(edge->bus_link.bus, unique_name, on_identified, client);
    if (client->lookup == NULL) {
        client_free(client);
        return NULL;
    }
    g_hash_table_insert(edge->clients->by_name, client->unique_name, client);
    return client;
}

gboolean
clients_may_defer(const Client *client)
{
    const Limits *limits = &client->edge->user_agent.limits;

    /* Descriptors, if calls brought any, are kept with them. */
    return client->deferred.length < limits->max[LIMIT_CALLS_BEFORE_IDENTIFIED] &&
           !descriptors_are_scarce();
}

guint64
clients_get_last_position(const Client *client)
{
    const DeferredCall *last = client->deferred.tail != NULL ? client->deferred.tail->data : NULL;

    return last != NULL ? last->position : 0;
}

void
clients_defer(Client *client, sd_bus_message *call, guint64 position)
{
    DeferredCall *deferred = g_new(DeferredCall, 1);

    *deferred =
        (DeferredCall){sd_bus_message_ref(call), MAX(position, clients_get_last_position(client))};
    g_queue_push_tail(&client->deferred, deferred);
}

gboolean
clients_has_due(const Client *client)
{
    const DeferredCall *first = client->deferred.head != NULL ? client->deferred.head->data : NULL;

    return first != NULL && client->agent != NULL && first->position <= client->n_socket_bytes;
}

gboolean
clients_serve_due(Client *client)
{
    if (!clients_has_due(client))
        return FALSE;
    serve_first(client);
    return TRUE;
}
