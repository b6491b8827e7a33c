/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/calls.h"

#include <string.h>

#include "common/wire-names.h"
#include "service/bus/bus-faults.h"
#include "service/bus/clients.h"
#include "service/bus/methods.h"
#include "service/bus/peers.h"
#include "service/bus/replies.h"
#include "service/bus/service-methods.h"

#define PEER_INTERFACE "org.freedesktop.DBus.Peer"
#define PING_MEMBER    "Ping"

typedef int (*CallHandler)(Client *client, sd_bus_message *call, sd_bus_error *error);

/* What is left of a call if nobody hears the answer. */
typedef enum {
    CALL_ACTS,     /* all of it */
    CALL_GIVES_ID, /* an id that nobody would know; unless the client's end is known to follow */
    CALL_ASKS,     /* nothing */
} CallUse;

typedef struct {
    const char *interface;
    const char *member;
    const char *signature;
    CallHandler handler;
    CallUse use;
} CallsTableRow;

/* As sd-bus would have answered it. */
static int
answer_ping(Client *client, sd_bus_message *call, sd_bus_error *error)
{
    replies_put(client, replies_new(call), 0);
    return 0;
}

/* The most frequent first. */
static const CallsTableRow calls_table[] = {
    {WIRE_LOCKS_INTERFACE, "Request", "sa{sv}", methods_request, CALL_GIVES_ID},
    {WIRE_LOCKS_INTERFACE, "Release", "t", methods_release, CALL_ACTS},
    {WIRE_LOCKS_INTERFACE, "Abort", "t", methods_abort, CALL_ACTS},
    {WIRE_LOCKS_INTERFACE, "Steal", "sa{sv}", methods_steal, CALL_GIVES_ID},
    {WIRE_LOCKS_INTERFACE, "Query", "", methods_query, CALL_ASKS},
    {WIRE_LOCKS_INTERFACE, "Inspect", "a{sv}", methods_inspect, CALL_ASKS},
    {WIRE_LOCKS_INTERFACE, "Watch", "b", methods_watch, CALL_ACTS},
    {WIRE_SERVICE_INTERFACE, "Buckets", "", service_methods_buckets, CALL_ASKS},
    {WIRE_SERVICE_INTERFACE, "OpenPeer", "", service_methods_open_peer, CALL_ASKS},
    {WIRE_SERVICE_INTERFACE, "Resync", "", service_methods_resync, CALL_ASKS},
    {PEER_INTERFACE, PING_MEMBER, "", answer_ping, CALL_ASKS}, /* only those that wait */
};

/* NULL if it isn't there. */
static const CallsTableRow *
find_row(const char *interface, const char *member)
{
    for (guint i = 0; i < G_N_ELEMENTS(calls_table); i++) {
        const CallsTableRow *row = &calls_table[i];

        if (strcmp(row->member, member) == 0 && strcmp(row->interface, interface) == 0)
            return row;
    }
    return NULL;
}

static const CallsTableRow *
get_row(sd_bus_message *call)
{
    const CallsTableRow *row =
        find_row(sd_bus_message_get_interface(call), sd_bus_message_get_member(call));

    g_assert(row != NULL);
    return row;
}

static void
serve(Client *client, sd_bus_message *call, const CallsTableRow *row)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r;

    edge_tick(client->edge);
    r = row->handler(client, call, &error);
    if (r < 0 && !sd_bus_error_is_set(&error))
        sd_bus_error_set(&error, WIRE_ERROR_INVALID_ARGS, "The message body can't be read");
    if (client->edge->verbose)
        g_debug("%s %s: %s", client->unique_name, row->member, r < 0 ? error.name : "done");
    bus_faults_log(call, r < 0 ? &error : NULL);
    if (r < 0)
        replies_put_error(client->link, call, &error);
    sd_bus_error_free(&error);
}

void
calls_serve(Client *client, sd_bus_message *call)
{
    serve(client, call, get_row(call));
}

static void
refuse(Link *link, sd_bus_message *call, LockResult result)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;

    replies_set_result(&error, link->edge, result);
    replies_put_error(link, call, &error);
    sd_bus_error_free(&error);
}

static gboolean
is_useful(const Link *link, sd_bus_message *call, CallUse use)
{
    if (sd_bus_message_get_expect_reply(call) <= 0)
        return use == CALL_ACTS;
    return link->outbox.instead == NULL || use != CALL_ASKS;
}

/* A call by the bus comes behind all that its client has sent on its private socket before, as far
 * as we can know: what is there now. That is read in turns with everybody else's; the call waits.
 * FALSE: there is nothing to wait for. */
static gboolean
wait_for_socket(Client *client, sd_bus_message *call)
{
    guint64 position = peers_get_position(client);
    gboolean is_in_hurry;

    if (position <= client->n_socket_bytes && g_queue_is_empty(&client->deferred))
        return FALSE;
    /* There may be no later, or too many would wait: then all others have to. An error instead
     * would be lost on a call that wants no answer. */
    is_in_hurry = client->edge->user_agent.shutting_down || !clients_may_defer(client);
    clients_defer(client, call, position);
    if (is_in_hurry)
        peers_serve_deferred(client);
    return TRUE;
}

static void
wait_for_identity(Client *client, sd_bus_message *call)
{
    Edge *edge = client->edge;

    if (edge->user_agent.shutting_down)
        refuse(client->link, call, LOCK_RESULT_SHUTTING_DOWN); /* it may not find us any more */
    else if (!clients_may_defer(client))
        refuse(client->link, call, lock_result_limit(LIMIT_CALLS_BEFORE_IDENTIFIED));
    else
        clients_defer(client, call, 0);
}

static void
take(Link *link, sd_bus_message *call, const CallsTableRow *row)
{
    Edge *edge = link->edge;
    Client *client = link->client;

    if (!is_useful(link, call, row->use))
        return;
    if (client == NULL)
        client = clients_get(edge, sd_bus_message_get_sender(call));
    if (client == NULL) {
        refuse(link, call, LOCK_RESULT_UNIDENTIFIED);
        return;
    }
    if (client->agent == NULL) {
        wait_for_identity(client, call);
    } else if (link->client != NULL || !wait_for_socket(client, call)) {
        client->link = link;
        serve(client, call, row);
    }
}

/* What sd-bus answers by itself it answers at once. A Ping means that what came before has been
 * dealt with; so behind calls that wait for a private socket it waits with them. */
static gboolean
take_ping(Link *link, sd_bus_message *message)
{
    Client *client;

    if (link->client != NULL ||
        sd_bus_message_is_method_call(message, PEER_INTERFACE, PING_MEMBER) <= 0)
        return FALSE;
    client = g_hash_table_lookup(link->edge->clients->by_name, sd_bus_message_get_sender(message));
    if (client == NULL || client->agent == NULL || g_queue_is_empty(&client->deferred) ||
        sd_bus_message_get_expect_reply(message) <= 0)
        return FALSE;
    return wait_for_socket(client, message);
}

int
calls_on_method(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    take(userdata, call, get_row(call));
    return 1;
}

gboolean
calls_take_to_bucket(Link *link, sd_bus_message *message)
{
    const char *interface = sd_bus_message_get_interface(message);
    const CallsTableRow *row;

    if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0 || interface == NULL)
        return FALSE;
    if (strcmp(interface, WIRE_LOCKS_INTERFACE) != 0)
        return take_ping(link, message);
    row = find_row(interface, sd_bus_message_get_member(message));
    if (row == NULL || sd_bus_message_has_signature(message, row->signature) <= 0 ||
        link_get_bucket(link, sd_bus_message_get_path(message)) == NULL)
        return FALSE;
    take(link, message, row);
    return TRUE;
}
