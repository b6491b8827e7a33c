/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/clients.h"

#include "common/wire-names.h"
#include "service/bus/bus-service.h"
#include "service/bus/calls.h"
#include "service/bus/signals.h"
#include "service/core/principal.h"

static void
client_free(gpointer data)
{
    Client *client = data;
    BusService *service = client->service;

    if (client->agent == NULL)
        service->clients.n_unidentified--;
    watchers_remove_client(client);
    g_clear_pointer(&client->lookup, credentials_lookup_free);
    g_queue_clear_full(&client->deferred, sd_bus_message_destroy);
    if (client->agent != NULL) {
        client->agent->edge_data = NULL;
        agent_unref(client->agent);
    }
    g_free(client->unique_name);
    g_free(client);
}

void
clients_init(Clients *clients)
{
    clients->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, client_free);
}

/* Ends what is left in the core without telling anybody: there is no bus to tell it to. */
void
clients_fini(BusService *service)
{
    GHashTableIter iter;
    Client *client;

    user_agent_shut_down(&service->user_agent);
    g_hash_table_iter_init(&iter, service->clients.by_name);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (client->agent != NULL)
            user_agent_lose(&service->user_agent, client->agent);
    effects_clear(&service->user_agent.effects);

    g_clear_pointer(&service->clients.by_name, g_hash_table_unref);
    g_clear_pointer(&service->clients.name_owner_changed, sd_bus_slot_unref);
}

/* [2.6] The agent has terminated. */
static void
remove_client(Client *client)
{
    BusService *service = client->service;

    watchers_remove_client(client);
    if (client->agent != NULL) {
        bus_service_tick(service);
        user_agent_terminate(&service->user_agent, client->agent);
        client->agent->edge_data = NULL;
        signals_announce(service, NULL, NULL);
    }
    g_hash_table_remove(service->clients.by_name, client->unique_name);
}

static int
on_name_owner_changed(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    BusService *service = userdata;
    const char *name, *old_owner, *new_owner;
    Client *client;

    if (sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) < 0)
        return 0;
    if (name[0] != ':' || new_owner[0] != '\0')
        return 0;

    client = g_hash_table_lookup(service->clients.by_name, name);
    if (client != NULL) {
        if (service->verbose)
            g_debug("%s has left the bus", name);
        remove_client(client);
    }
    return 0;
}

int
clients_subscribe(BusService *service)
{
    /* Only names that nobody has any more: the bus filters the rest. */
    return sd_bus_add_match(service->bus, &service->clients.name_owner_changed,
                            "type='signal',"
                            "sender='" WIRE_DRIVER_NAME "',"
                            "path='" WIRE_DRIVER_PATH "',"
                            "interface='" WIRE_DRIVER_INTERFACE "',"
                            "member='NameOwnerChanged',"
                            "arg2=''",
                            on_name_owner_changed, service);
}

/* Answers what has waited with an error and forgets the client; it may ask again. */
static void
refuse_client(Client *client, const sd_bus_error *error)
{
    sd_bus_message *call;

    while ((call = g_queue_pop_head(&client->deferred)) != NULL) {
        calls_reply_error(client->service, call, error);
        sd_bus_message_unref(call);
    }
    remove_client(client);
}

static void
on_identified(const Credentials *credentials, gpointer data)
{
    Client *client = data;
    BusService *service = client->service;
    Principal *principal;
    LockResult result;
    sd_bus_message *call;

    if (credentials == NULL) {
        static const sd_bus_error unknown = SD_BUS_ERROR_MAKE_CONST(
            WIRE_ERROR_SECURITY, "It could not be found out who the caller is");

        refuse_client(client, &unknown);
        return;
    }

    principal = principal_get(&service->user_agent, &credentials->identity);
    result = agent_new(principal, client->unique_name, &client->agent);
    principal_unref(principal);
    if (result != LOCK_RESULT_OK) {
        sd_bus_error error = SD_BUS_ERROR_NULL;

        calls_set_error(&error, service, result);
        refuse_client(client, &error);
        sd_bus_error_free(&error);
        return;
    }

    service->clients.n_unidentified--;
    client->agent->edge_data = client;
    client->pid = credentials->pid;
    g_clear_pointer(&client->lookup, credentials_lookup_free);
    while ((call = g_queue_pop_head(&client->deferred)) != NULL) {
        calls_serve(client, call);
        sd_bus_message_unref(call);
    }
}

Client *
clients_get(BusService *service, const char *unique_name)
{
    Client *client = g_hash_table_lookup(service->clients.by_name, unique_name);

    if (client != NULL)
        return client;

    client = g_new0(Client, 1);
    client->service = service;
    client->unique_name = g_strdup(unique_name);
    g_queue_init(&client->deferred);
    g_queue_init(&client->watches);
    service->clients.n_unidentified++;
    client->lookup = principals_look_up(service->bus, unique_name, on_identified, client);
    if (client->lookup == NULL) {
        client_free(client);
        return NULL;
    }
    g_hash_table_insert(service->clients.by_name, client->unique_name, client);
    return client;
}

gboolean
clients_defer(Client *client, sd_bus_message *call)
{
    const Limits *limits = &client->service->user_agent.limits;

    if (client->deferred.length >= limits->max[LIMIT_CALLS_BEFORE_IDENTIFIED])
        return FALSE;
    g_queue_push_tail(&client->deferred, sd_bus_message_ref(call));
    return TRUE;
}
