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
    {PEER_INTERFACE, PING_MEMBER, "", answer_ping, CALL_ASKS}, /* that has waited */
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

/* What the call is one of; NULL: the objects know, which are up on the link. */
static const CallsTableRow *
find_called(Link *link, sd_bus_message *call)
{
    const char *interface = sd_bus_message_get_interface(call);
    const char *path = sd_bus_message_get_path(call);
    const CallsTableRow *row = NULL;

    if (interface != NULL)
        row = find_row(interface, sd_bus_message_get_member(call));
    if (row == NULL || sd_bus_message_has_signature(call, row->signature) <= 0)
        return NULL;
    if (strcmp(interface, WIRE_LOCKS_INTERFACE) == 0)
        return link_get_bucket(link, path) != NULL ? row : NULL;
    return strcmp(interface, PEER_INTERFACE) == 0 || strcmp(path, WIRE_SERVICE_PATH) == 0 ? row
                                                                                          : NULL;
}

static const sd_bus_error unreadable =
    SD_BUS_ERROR_MAKE_CONST(WIRE_ERROR_INVALID_ARGS, "The message body can't be read");

static void
serve(Client *client, sd_bus_message *call, const CallsTableRow *row)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    int r;

    edge_tick(client->edge);
    r = row->handler(client, call, &error);
    if (r < 0 && !sd_bus_error_is_set(&error))
        sd_bus_error_copy(&error, &unreadable);
    if (client->edge->verbose)
        g_debug("%s %s: %s", client->unique_name, row->member, r < 0 ? error.name : "done");
    bus_faults_log(call, r < 0 ? &error : NULL);
    if (r < 0)
        replies_put_error(client->link, call, &error);
    sd_bus_error_free(&error);
}

static void
refuse(Link *link, sd_bus_message *call, LockResult result)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;

    replies_set_result(&error, link->edge, result);
    replies_put_error(link, call, &error);
    sd_bus_error_free(&error);
}

/* When we end, calls are served whether their clients read or not; but for lists, which may be
 * long. The bus has to have read all of it, and has little time. */
static gboolean
is_too_late(const Client *client, CallUse use)
{
    const Edge *edge = client->edge;

    return use == CALL_ASKS &&
           (confirm_is_behind(client) ||
            (edge->clients->is_ending && outbox_is_backed_up(&edge->bus_link.outbox)));
}

void
calls_serve(Client *client, sd_bus_message *call, gboolean is_readable)
{
    const CallsTableRow *row = find_called(client->link, call);

    if (!is_readable)
        replies_put_error(client->link, call, &unreadable);
    else if (row == NULL) /* sd-bus would have answered it, had it not had to wait */
        refuse(client->link, call, lock_result_limit(LIMIT_CALLS_WAITING));
    else if (client->is_gone && row->use == CALL_ASKS)
        return;
    else if (is_too_late(client, row->use))
        refuse(client->link, call, LOCK_RESULT_SHUTTING_DOWN);
    else
        serve(client, call, row);
}

static gboolean
is_useful(const Link *link, sd_bus_message *call, CallUse use)
{
    if (sd_bus_message_get_expect_reply(call) <= 0)
        return use == CALL_ACTS;
    return link->outbox.instead == NULL || use != CALL_ASKS;
}

static void
wait_for_identity(Client *client, sd_bus_message *call)
{
    Link *link = &client->edge->bus_link;
    CallSize size = clients_measure(client, call);
    LimitId limit;

    if (client->edge->user_agent.shutting_down)
        refuse(link, call, LOCK_RESULT_SHUTTING_DOWN); /* it may not find us any more */
    else if (confirm_is_full(client) || clients_may_defer(client, size.n_bytes, &limit))
        clients_defer(client, call, size, 0);
    else
        refuse(link, call, lock_result_limit(limit));
}

/* A call by the bus comes behind all that its client has sent on its private socket before, as far
 * as we can know: what is there now. That is read in turns with everybody else's; the call waits.
 * So it does if the client doesn't read what it is answered. FALSE: there is nothing to wait for.
 */
static gboolean
wait_in_turn(Client *client, sd_bus_message *call)
{
    guint64 position = peers_get_position(client);

    if (position <= client->n_socket_bytes && g_queue_is_empty(&client->deferred) &&
        !confirm_is_full(client))
        return FALSE;
    clients_defer(client, call, clients_measure(client, call), position);
    /* There may be no later. */
    if (client->edge->user_agent.shutting_down)
        peers_serve_deferred(client);
    return TRUE;
}

static void
take(Link *link, sd_bus_message *call, const CallsTableRow *row)
{
    Client *client = link->client;

    if (client == NULL) {
        client = clients_get(link->edge, sd_bus_message_get_sender(call));
        if (sd_bus_message_get_expect_reply(call) <= 0)
            confirm_add(client);
    }
    if (!is_useful(link, call, row->use))
        return;
    if (!clients_identify(client)) {
        refuse(link, call, LOCK_RESULT_SHUTTING_DOWN);
    } else if (client->agent == NULL) {
        wait_for_identity(client, call);
    } else if (link->client != NULL || !wait_in_turn(client, call)) {
        client->link = link;
        serve(client, call, row);
    }
}

/* Whether it has to wait for its client. */
static gboolean
hold(Client *client, sd_bus_message *call)
{
    if (client->agent != NULL)
        return wait_in_turn(client, call);
    if (!confirm_is_full(client))
        return FALSE;
    wait_for_identity(client, call);
    return TRUE;
}

/* sd-bus would answer it at once, and if there were no room for the answer, never. It means that
 * what came before has been dealt with, so behind calls that wait it waits with them. */
static void
take_ping(Link *link, sd_bus_message *call)
{
    Client *client = link->client;
    gboolean has_reply = sd_bus_message_get_expect_reply(call) > 0;

    if (client == NULL) {
        client = clients_get(link->edge, sd_bus_message_get_sender(call));
        if (!has_reply)
            confirm_add(client);
        else if (hold(client, call))
            return;
    }
    if (has_reply)
        outbox_take(&link->outbox, replies_new(call), 0);
}

/* What sd-bus answers by itself it answers at once; but not to one who doesn't read. TRUE: it is
 * not for sd-bus. */
static gboolean
take_other(Link *link, sd_bus_message *call)
{
    Client *client;

    if (link->client != NULL)
        return FALSE;
    client = clients_get(link->edge, sd_bus_message_get_sender(call));
    confirm_add(client);
    if (!confirm_is_full(client))
        return FALSE;
    return sd_bus_message_get_expect_reply(call) <= 0 || hold(client, call);
}

int
calls_on_method(sd_bus_message *call, void *userdata, sd_bus_error *error)
{
    return sd_bus_error_set(error, WIRE_ERROR_UNKNOWN_METHOD, "This is a call of no method");
}

gboolean
calls_take(Link *link, sd_bus_message *message)
{
    const CallsTableRow *row;

    if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
        return FALSE;
    row = find_called(link, message);
    if (row == NULL)
        return take_other(link, message);
    if (row->handler == answer_ping)
        take_ping(link, message);
    else
        take(link, message, row);
    return TRUE;
}
