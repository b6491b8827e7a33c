/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "intake.h"

#include <poll.h>

#include "admission.h"
#include "bus-calls.h"
#include "bus-names.h"
#include "decode.h"
#include "encode.h"
#include "lifecycle.h"
#include "scheduler.h"
#include "sleep.h"

/* Bounds the time until timers and other sources are dispatched while messages keep arriving. */
#define BATCH_MESSAGES 32

/* ---- messages */

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

/* ---- the source of the main loop */

typedef struct {
    GSource parent;
    Server *server;
    gpointer fd_tag;
    GIOCondition waits_for;
} BusSource;

static gboolean
may_read(const Server *server)
{
    return !bus_is_backed_up(server->bus) && !turn_is_full(&server->turn);
}

/* g_source_modify_unix_fd() wakes the context even from its own thread, so it is called only if
 * the condition changes. */
static void
wait_for(BusSource *self, int events)
{
    GIOCondition condition = (events & POLLIN ? G_IO_IN : 0) | (events & POLLOUT ? G_IO_OUT : 0);

    if (condition == self->waits_for)
        return;
    self->waits_for = condition;
    g_source_modify_unix_fd(&self->parent, self->fd_tag, condition);
}

/* Updates the poll condition, which may change with each message that is read or queued. */
static gboolean
bus_source_prepare(GSource *source, int *timeout_ms)
{
    BusSource *self = (BusSource *)source;
    sd_bus *bus = self->server->bus->connection;
    const gboolean reads = may_read(self->server);
    int events = sd_bus_get_events(bus);
    uint64_t ready_us;

    *timeout_ms = -1;
    /* If it is closed, or sending has failed, dispatch will detect that. Nothing else may wake up
     * the main loop then, and what is still queued won't be sent. */
    if (sd_bus_is_open(bus) <= 0 || events < 0 || sd_bus_get_timeout(bus, &ready_us) < 0)
        return TRUE;

    wait_for(self, reads ? events : events & ~POLLIN);
    if (reads && ready_us == 0)
        return TRUE; /* sd-bus has read messages that it has not processed */
    /* Also if nothing is read: a time that is over would wake up the main loop again and again. */
    g_source_set_ready_time(source,
                            ready_us == 0 || ready_us == UINT64_MAX ? -1 : (gint64)ready_us);
    return FALSE;
}

/* sd_bus_process() is called at least once, even if nothing may be read, since it also writes. */
static gboolean
bus_source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    Server *server = ((BusSource *)source)->server;
    sd_bus *bus = server->bus->connection;
    guint n_left = BATCH_MESSAGES;
    int r;

    do {
        r = sd_bus_process(bus, NULL);
    } while (r > 0 && --n_left > 0 && may_read(server));
    if ((r >= 0 || sd_bus_is_transient(r)) && sd_bus_is_open(bus) > 0)
        return G_SOURCE_CONTINUE;
    lifecycle_on_bus_lost(server);
    return G_SOURCE_REMOVE;
}

static GSourceFuncs bus_source_funcs = {
    .prepare = bus_source_prepare,
    .dispatch = bus_source_dispatch,
};

GSource *
intake_attach(Server *server)
{
    GSource *source = g_source_new(&bus_source_funcs, sizeof(BusSource));
    BusSource *self = (BusSource *)source;

    g_source_set_static_name(source, "bus");
    /* The source does not recurse; but without this GLib removes the descriptor from the poll set
     * and adds it again at each dispatch. */
    g_source_set_can_recurse(source, TRUE);
    self->server = server;
    self->waits_for = G_IO_IN;
    self->fd_tag =
        g_source_add_unix_fd(source, sd_bus_get_fd(server->bus->connection), self->waits_for);
    g_source_attach(source, NULL);
    return source;
}
