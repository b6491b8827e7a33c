/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "flow-control.h"

#include "bus-names.h"

/* A client is sent a Ping after so many messages, */
#define PING_AFTER_SENT 64
/* and served no more calls by the bus if so many are not acknowledged. A message counts as one more
 * for each so many bytes. */
#define SENT_MAX      512
#define BYTES_COUNTED 4096
/* The same for signals of what it watches. */
#define PING_AFTER_WATCHED 256
#define WATCHED_MAX        1024
/* A client that waits for one reply, for so long, may have so many more messages unacknowledged;
 * and so many in all. */
#define SYNCHRONOUS_MS 20
#define ALLOWANCE      64
#define ALLOWANCE_MAX  16384
/* When the bus did not pass on the Ping, another one is sent after this time. */
#define PING_AGAIN_SECS 1

void
flow_controls_init(FlowControls *all, sd_bus *bus, const Outbox *outbox)
{
    *all = (FlowControls){.bus = bus, .outbox = outbox};
    g_queue_init(&all->to_ping);
}

FlowControl *
flow_control_new(FlowControls *all, Client *client)
{
    FlowControl *self = g_new0(FlowControl, 1);

    self->all = all;
    self->client = client;
    return self;
}

void
flow_control_free(FlowControl *self)
{
    if (self->wants_ping)
        g_queue_remove(&self->all->to_ping, self);
    g_clear_handle_id(&self->ping_again_id, g_source_remove);
    g_clear_handle_id(&self->synchronous_id, g_source_remove);
    g_clear_pointer(&self->ping, sd_bus_slot_unref);
    g_free(self);
}

/* What it watches has a bound of its own. */
static guint
count_answers(const FlowControl *self)
{
    return self->n_sent - MIN(self->n_sent, self->n_watched);
}

void
flow_control_ask(FlowControl *self)
{
    if (self->ping != NULL || self->ping_again_id != 0 || self->wants_ping)
        return;
    self->wants_ping = TRUE;
    g_queue_push_tail(&self->all->to_ping, self);
}

static void
ask_if_due(FlowControl *self)
{
    if (count_answers(self) >= PING_AFTER_SENT || self->n_watched >= PING_AFTER_WATCHED ||
        self->client->is_flood)
        flow_control_ask(self);
}

void
flow_control_add(FlowControl *self, gsize n_bytes)
{
    self->n_sent += 1 + (guint)(n_bytes / BYTES_COUNTED);
    ask_if_due(self);
}

gboolean
flow_control_admit_watched(FlowControl *self)
{
    gboolean is_admitted = self->n_watched < WATCHED_MAX;

    if (is_admitted)
        self->n_watched++;
    ask_if_due(self);
    return is_admitted;
}

gboolean
flow_control_may_tell_missed(const FlowControl *self)
{
    return self->n_watched < WATCHED_MAX;
}

gboolean
flow_control_is_behind(const FlowControl *self)
{
    return count_answers(self) >= SENT_MAX + self->allowance;
}

gboolean
flow_control_is_full(const FlowControl *self)
{
    return flow_control_is_behind(self) && !self->is_exempt &&
           !self->client->session->user_agent.shutting_down;
}

void
flow_control_exempt(FlowControl *self)
{
    self->is_exempt = TRUE;
}

/* ---- the answer */

static void
go_on(FlowControl *self)
{
    turn_make_runnable(&self->client->session->turn, self->client);
    ask_if_due(self);
}

static gboolean
on_synchronous(gpointer data)
{
    FlowControl *self = data;

    if (self->client->deferred.n_awaited != 1 || self->allowance >= ALLOWANCE_MAX ||
        self->client->is_flood) {
        self->synchronous_id = 0;
        return G_SOURCE_REMOVE;
    }
    if (flow_control_is_full(self)) {
        self->allowance += ALLOWANCE;
        go_on(self);
    }
    return G_SOURCE_CONTINUE; /* there may be others before the one that is awaited */
}

void
flow_control_ask_or_allow(FlowControl *self)
{
    flow_control_ask(self);
    /* When there is nothing else to read: then it is the only call indeed. */
    if (self->synchronous_id == 0)
        self->synchronous_id =
            g_timeout_add_full(G_PRIORITY_LOW, SYNCHRONOUS_MS, on_synchronous, self, NULL);
}

/* A bus may be awaiting so many replies for the service already, from clients that do not give
 * them, that it passes on no other call. Clients that cannot be asked are then served as slowly as
 * that. */
static gboolean
on_ping_again(gpointer data)
{
    FlowControl *self = data;
    Turn *turn = &self->client->session->turn;

    self->ping_again_id = 0;
    if (self->is_refused) {
        self->n_sent -= MIN(count_answers(self), PING_AFTER_SENT);
        go_on(self);
    }
    ask_if_due(self);
    turn->wake_up(turn->data);
    return G_SOURCE_REMOVE;
}

static int
on_pong(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    FlowControl *self = userdata;

    g_clear_pointer(&self->ping, sd_bus_slot_unref);
    self->is_refused = FALSE;
    /* Errors of the bus itself, or of sd-bus, say nothing about what the client has read. */
    if (g_strcmp0(sd_bus_message_get_sender(reply), self->client->unique_name) != 0) {
        self->is_refused = sd_bus_message_is_method_error(reply, BUS_ERROR_LIMITS_EXCEEDED) > 0;
        self->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, self);
        return 1;
    }
    self->allowance = 0;
    self->n_sent -= self->n_sent_before_ping;
    self->n_watched -= self->n_watched_before_ping;
    go_on(self);
    return 1;
}

/* ---- the Ping */

static void
send_ping(FlowControl *self)
{
    g_autoptr(SdBusMessage) ping = NULL;
    int r = sd_bus_message_new_method_call(self->all->bus, &ping, self->client->unique_name, "/",
                                           "org.freedesktop.DBus.Peer", "Ping");

    self->n_sent_before_ping = self->n_sent;
    self->n_watched_before_ping = self->n_watched;
    /* Without a time limit: however late it answers, it has read what came before. */
    if (r >= 0)
        r = sd_bus_call_async(self->all->bus, &self->ping, ping, on_pong, self, UINT64_MAX);
    if (r < 0)
        self->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, self);
}

void
flow_controls_send_pings(FlowControls *all)
{
    /* A Ping must not overtake what it asks for. */
    if (outbox_get_length(all->outbox) > 0 || outbox_is_backed_up(all->outbox))
        return;
    while (!g_queue_is_empty(&all->to_ping)) {
        FlowControl *self = g_queue_pop_head(&all->to_ping);

        self->wants_ping = FALSE;
        send_ping(self);
    }
}
