/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "intake.h"

#include "admission.h"
#include "bus-names.h"
#include "decode.h"
#include "dispatch.h"
#include "encode.h"
#include "scheduler.h"

/* A call that wants no reply costs as much as one that does: it counts like a message. */
static Client *
get_caller(Server *server, sd_bus_message *message, const LockCall *call)
{
    Client *client = admission_get_client(server, sd_bus_message_get_sender(message));

    if (!call->wants_reply)
        flow_control_add(client->flow, 0);
    return client;
}

/* Whether anything is left of the call if nobody reads the reply. */
static gboolean
is_useful(const LockCall *call)
{
    return call->wants_reply || lock_call_get_use(call) == LOCK_CALL_ACTS;
}

static void
wait_for_identity(Client *client, const LockCall *call)
{
    const UserAgent *user_agent = &client->session->user_agent;
    LimitId limit;

    if (user_agent->shutting_down)
        encode_result(client, call, LOCK_RESULT_SHUTTING_DOWN); /* it may not find us any more */
    else if (flow_control_is_full(client->flow) ||
             call_queue_has_room(&client->deferred, 1, &user_agent->limits, &limit))
        scheduler_defer(client, call);
    else
        encode_result(client, call, lock_result_limit(limit));
}

/* A call by the bus comes behind everything that its client has sent on its lock socket before, as
 * far as that can be known: what is there now. FALSE: it has been deferred. */
static gboolean
may_serve_now(Client *client, const LockCall *call)
{
    if (scheduler_serve_before(client) && call_queue_is_empty(&client->deferred) &&
        scheduler_may_serve(client))
        return TRUE;
    scheduler_defer(client, call);
    turn_make_runnable(&client->session->turn, client);
    return FALSE;
}

static void
take_call(Server *server, sd_bus_message *message, const LockCall *call)
{
    Client *client = get_caller(server, message, call);

    if (!is_useful(call))
        return;
    if (!admission_identify(client)) {
        encode_result(client, call, LOCK_RESULT_SHUTTING_DOWN);
    } else if (client->agent == NULL) {
        wait_for_identity(client, call);
    } else if (may_serve_now(client, call)) {
        server->bus.served = message;
        dispatch_call(client, &bus_channel, call);
        server->bus.served = NULL;
    }
}

/* TRUE: the call has to wait for its client, and does. */
static gboolean
defer_other(Client *client, const LockCall *call)
{
    if (client->agent != NULL)
        return !may_serve_now(client, call);
    if (!flow_control_is_full(client->flow))
        return FALSE;
    wait_for_identity(client, call);
    return TRUE;
}

/* sd-bus would answer a Ping when it comes, and never if there were no room for the answer. It
 * tells that what came before has been dealt with, so behind deferred calls it waits with them. */
static void
take_ping(Server *server, sd_bus_message *message, const LockCall *call)
{
    Client *client = get_caller(server, message, call);

    if (call->wants_reply && !defer_other(client, call)) {
        server->bus.served = message;
        encode_done(client, call);
        server->bus.served = NULL;
    }
}

/* What sd-bus answers by itself it answers when it comes; but not to a client that does not read.
 * TRUE: it is not for sd-bus. */
static gboolean
take_other(Server *server, sd_bus_message *message)
{
    Client *client = admission_get_client(server, sd_bus_message_get_sender(message));
    LockCall call;

    flow_control_add(client->flow, 0);
    if (!flow_control_is_full(client->flow))
        return FALSE;
    decode_other(message, &call);
    return !call.wants_reply || defer_other(client, &call);
}

/* Whether the message has been taken. */
static gboolean
take(Server *server, sd_bus_message *message)
{
    g_auto(LockCall) call = {LOCK_CALL_OTHER};

    if (!decode_call(&server->bus, message, &call))
        return take_other(server, message);
    if (call.kind == LOCK_CALL_PING)
        take_ping(server, message, &call);
    else
        take_call(server, message, &call);
    return TRUE;
}

static gboolean
is_from_flood(const Server *server, sd_bus_message *message)
{
    const Client *client;

    if (server->n_floods == 0)
        return FALSE;
    client = session_find_client(&server->session, sd_bus_message_get_sender(message));
    return client != NULL && client->is_flood;
}

int
intake_on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Server *server = userdata;

    /* Any connection can send a NameOwnerChanged or NameLost of its own, and sd-bus matches it. */
    if (sd_bus_message_is_signal(message, NULL, NULL) > 0)
        return g_strcmp0(sd_bus_message_get_sender(message), BUS_DRIVER_NAME) != 0;
    if (sd_bus_message_is_method_call(message, NULL, NULL) <= 0)
        return 0;
    if (is_from_flood(server, message) || take(server, message))
        return 1;
    /* What sd-bus answers by itself is sent when it is answered: what came before must have left by
     * then. */
    server_end_turn(server);
    return 0;
}
