/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "intake.h"

#include "admission.h"
#include "bus-calls.h"
#include "bus-names.h"
#include "decode.h"
#include "encode.h"
#include "scheduler.h"
#include "sleep.h"

/* Returns the client of the caller, borrowed. A call without a reply needs as much time as
 * one with a reply, so flow control counts it like a message. */
static Client *
get_caller(Server *server, sd_bus_message *message, const LockCall *call)
{
    Client *client = admission_get_client(server, sd_bus_message_get_sender(message));

    if (!call->wants_reply)
        flow_control_add(client->flow, 0);
    return client;
}

/* Whether the call has an effect. Without a reply a request has none, since its id is not known. */
static gboolean
is_useful(const LockCall *call)
{
    return call->wants_reply ||
           (call->kind != LOCK_CALL_REQUEST && !lock_call_changes_nothing(call));
}

static void
wait_for_identity(Client *client, const LockCall *call)
{
    if (client->server->user_agent.shutting_down)
        encode_result(client, call,
                      LOCK_RESULT_SHUTTING_DOWN); /* too late to identify the client */
    else if (flow_control_is_full(client->flow) || client_may_defer(client))
        scheduler_defer(client, call);
    else
        encode_result(client, call, lock_result_limit(LIMIT_BYTES_WAITING));
}

/* Serves the packets that the client has sent on its lock socket before this call, that is, those
 * that are there now. Returns FALSE if the call was deferred. */
static gboolean
may_serve_now(Client *client, const LockCall *call)
{
    if (scheduler_serve_before(client) && client->deferred.length == 0 &&
        scheduler_may_serve(client))
        return TRUE;
    scheduler_defer(client, call);
    turn_make_runnable(&client->server->turn, client);
    return FALSE;
}

static void
take_call(Server *server, sd_bus_message *message, const LockCall *call)
{
    Client *client = get_caller(server, message, call);
    const gboolean needs_agent = lock_call_needs_agent(call);

    if (!is_useful(call))
        return;
    if (needs_agent && !admission_identify(client)) {
        encode_result(client, call, LOCK_RESULT_SHUTTING_DOWN);
    } else if (client->agent == NULL && (needs_agent || flow_control_is_full(client->flow))) {
        wait_for_identity(client, call);
    } else if (client->agent == NULL || may_serve_now(client, call)) {
        server->bus->served = message;
        bus_calls_serve(client, call);
        server->bus->served = NULL;
    }
}

static gboolean
is_from_flood(const Server *server, sd_bus_message *message)
{
    const Client *client;

    if (server->n_floods == 0)
        return FALSE;
    client = server_find_client(server, sd_bus_message_get_sender(message));
    return client != NULL && client->is_flood;
}

int
intake_on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;

    turn_count_call(&server->turn, 0);
    /* Ignore signals that are not from the bus: any connection can send a forged NameOwnerChanged
     * or NameLost, which sd-bus would match. */
    if (sd_bus_message_is_signal(message, NULL, NULL) > 0) {
        if (g_strcmp0(sd_bus_message_get_sender(message), BUS_DRIVER_NAME) == 0)
            return 0;
        sleep_on_signal(server, message);
        return 1;
    }
    if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
        return 0;
    if (!is_from_flood(server, message)) {
        g_auto(LockCall) call = {LOCK_CALL_UNKNOWN};

        decode_call(server->bus, message, &call);
        take_call(server, message, &call);
    }
    return 1;
}
