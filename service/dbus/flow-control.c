/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "flow-control.h"

#include <sys/random.h>

#include "bus.h"

/* In unacknowledged messages: when a Ping is sent, when the bus is asked for its statistics, and
 * when the client's calls on the bus are deferred. */
#define PING_AFTER_SENT 64
#define ASK_AFTER_SENT  256
#define SENT_MAX        512
/* The same for signals of what it watches. */
#define PING_AFTER_WATCHED 256
#define ASK_AFTER_WATCHED  512
#define WATCHED_MAX        1024
/* The same for file descriptors; the bus is not asked about them. */
#define PING_AFTER_DESCRIPTORS 4
#define DESCRIPTORS_MAX        32
/* A message counts as one more for each of these bytes. */
#define BYTES_COUNTED 4096
/* No message is shorter, so this many unread bytes are one message at most. */
#define MESSAGE_BYTES_MIN 64
/* A Ping that could not be delivered is sent again after this time. */
#define PING_AGAIN_SECS 1
/* While a client does not read, the bus is asked again after a time that grows within these. */
#define REST_MS_MIN 20
#define REST_MS_MAX 2560

static Bus *
get_bus(const FlowControl *self)
{
    return self->client->server->bus;
}

/* ---- counting */

static guint64
count_unacknowledged(const FlowCount *count)
{
    return count->n_sent - count->n_acknowledged;
}

static void
acknowledge(FlowCount *count, guint64 n)
{
    count->n_acknowledged = MAX(count->n_acknowledged, n);
}

/* The bus holds at most `n_held` of the messages that were sent before the question. */
static void
acknowledge_but(FlowCount *count, guint64 n_held)
{
    if (count->n_sent_before_question > n_held)
        acknowledge(count, count->n_sent_before_question - n_held);
}

/* Signals of watched buckets have a limit of their own. */
static guint64
count_answers(const FlowControl *self)
{
    guint64 n = count_unacknowledged(&self->all_sent);

    return n - MIN(n, count_unacknowledged(&self->watched));
}

static gboolean
wants_ping(const FlowControl *self)
{
    return count_answers(self) >= PING_AFTER_SENT ||
           count_unacknowledged(&self->watched) >= PING_AFTER_WATCHED ||
           count_unacknowledged(&self->descriptors) >= PING_AFTER_DESCRIPTORS ||
           self->client->is_flood;
}

static gboolean
wants_statistics(const FlowControl *self)
{
    return count_answers(self) >= ASK_AFTER_SENT ||
           count_unacknowledged(&self->watched) >= ASK_AFTER_WATCHED || self->client->is_flood;
}

/* ---- asking */

static void
ask_client(FlowControl *self)
{
    if (self->ping != NULL || self->ping_again_id != 0 || self->wants_ping)
        return;
    self->wants_ping = TRUE;
    g_queue_push_tail(&get_bus(self)->to_ping, self);
}

/* A client that did not read when the bus was asked before comes after all others: so clients that
 * never read don't make others wait. */
static void
ask_bus(FlowControl *self)
{
    if (self->rest_id == 0)
        bus_statistics_ask(&get_bus(self)->statistics, self, self->rest_ms == 0);
}

static void
ask_if_due(FlowControl *self)
{
    if (wants_ping(self))
        ask_client(self);
    if (wants_statistics(self))
        ask_bus(self);
}

void
flow_control_ask(FlowControl *self)
{
    ask_client(self);
    ask_if_due(self);
}

void
flow_control_add(FlowControl *self, gsize n_bytes)
{
    self->all_sent.n_sent += 1 + n_bytes / BYTES_COUNTED;
    ask_if_due(self);
}

void
flow_control_add_descriptor(FlowControl *self)
{
    self->descriptors.n_sent++;
    flow_control_add(self, 0);
}

void
flow_control_add_wanted(FlowControl *self)
{
    self->wanted.n_sent++;
}

gboolean
flow_control_admits_wanted(FlowControl *self)
{
    if (count_unacknowledged(&self->wanted) == 0)
        return TRUE;
    ask_client(self);
    return FALSE;
}

gboolean
flow_control_admit_watched(FlowControl *self)
{
    gboolean is_admitted = flow_control_may_send_missed(self);

    if (is_admitted)
        self->watched.n_sent++;
    ask_if_due(self);
    return is_admitted;
}

gboolean
flow_control_may_send_missed(const FlowControl *self)
{
    return count_unacknowledged(&self->watched) < WATCHED_MAX;
}

gboolean
flow_control_is_behind(const FlowControl *self)
{
    return count_answers(self) >= SENT_MAX ||
           count_unacknowledged(&self->descriptors) >= DESCRIPTORS_MAX;
}

gboolean
flow_control_is_full(const FlowControl *self)
{
    return flow_control_is_behind(self) && !self->is_exempt &&
           !self->client->server->user_agent.shutting_down;
}

void
flow_control_exempt(FlowControl *self)
{
    self->is_exempt = TRUE;
}

/* An acknowledgement may make the client runnable. */
static void
on_acknowledged(FlowControl *self)
{
    if (!wants_statistics(self))
        self->rest_ms = 0;
    turn_make_runnable(&self->client->server->turn, self->client);
}

/* ---- the bus's answer */

static gboolean
on_rested(gpointer data)
{
    FlowControl *self = data;

    self->rest_id = 0;
    if (wants_statistics(self))
        ask_bus(self);
    return G_SOURCE_REMOVE;
}

gboolean
flow_control_begin_question(FlowControl *self)
{
    self->all_sent.n_sent_before_question = self->all_sent.n_sent;
    self->watched.n_sent_before_question = self->watched.n_sent;
    return wants_statistics(self);
}

void
flow_control_on_statistics(FlowControl *self, guint64 n_bytes)
{
    if (n_bytes != BUS_STATISTICS_UNKNOWN) {
        acknowledge_but(&self->all_sent, n_bytes / MESSAGE_BYTES_MIN);
        acknowledge_but(&self->watched, n_bytes / MESSAGE_BYTES_MIN);
    }
    on_acknowledged(self);
    if (wants_statistics(self)) {
        self->rest_ms = CLAMP(2 * self->rest_ms, REST_MS_MIN, REST_MS_MAX);
        self->rest_id = g_timeout_add(self->rest_ms, on_rested, self);
    }
}

/* ---- the answer to a Ping */

static gboolean
on_ping_again(gpointer data)
{
    FlowControl *self = data;

    self->ping_again_id = 0;
    if (count_unacknowledged(&self->wanted) > 0)
        ask_client(self);
    ask_if_due(self);
    return G_SOURCE_REMOVE;
}

static int
on_pong(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    FlowControl *self = userdata;

    g_clear_pointer(&self->ping, sd_bus_slot_unref);
    /* Errors of the bus itself, or of sd-bus, do not show what the client has read. */
    if (g_strcmp0(sd_bus_message_get_sender(reply), self->client->unique_name) != 0) {
        self->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, self);
        return 1;
    }
    acknowledge(&self->all_sent, self->all_sent.n_sent_before_ping);
    acknowledge(&self->watched, self->watched.n_sent_before_ping);
    acknowledge(&self->descriptors, self->descriptors.n_sent_before_ping);
    acknowledge(&self->wanted, self->wanted.n_sent_before_ping);
    on_acknowledged(self);
    ask_if_due(self);
    return 1;
}

/* ---- the Ping */

/* A random serial, in place of the next one: a client that could guess it could answer a Ping that
 * it has not read. */
static int
seal_ping(sd_bus_message *ping)
{
    guint32 serial = 0;

    if (getrandom(&serial, sizeof serial, 0) != sizeof serial)
        return -errno;
    /* The lower half, since sd-bus continues from the greatest serial used. */
    return sd_bus_message_seal(ping, MAX(serial >> 1, 1), UINT64_MAX);
}

static void
send_ping(FlowControl *self)
{
    g_autoptr(SdBusMessage) ping = NULL;
    sd_bus *bus = get_bus(self)->connection;
    int r = sd_bus_message_new_method_call(bus, &ping, self->client->unique_name, "/",
                                           "org.freedesktop.DBus.Peer", "Ping");

    self->all_sent.n_sent_before_ping = self->all_sent.n_sent;
    self->watched.n_sent_before_ping = self->watched.n_sent;
    self->descriptors.n_sent_before_ping = self->descriptors.n_sent;
    self->wanted.n_sent_before_ping = self->wanted.n_sent;
    if (r >= 0)
        r = seal_ping(ping);
    /* Without a time limit: however late it answers, it has read what came before. */
    if (r >= 0)
        r = sd_bus_call_async(bus, &self->ping, ping, on_pong, self, UINT64_MAX);
    if (r < 0)
        self->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, self);
}

void
flow_control_send_pings(Bus *bus)
{
    /* A Ping must not overtake the messages that it is sent for. */
    if (!bus_is_sent(bus) || bus_is_backed_up(bus))
        return;
    while (!g_queue_is_empty(&bus->to_ping)) {
        FlowControl *self = g_queue_pop_head(&bus->to_ping);

        self->wants_ping = FALSE;
        send_ping(self);
    }
}

/* ---- init and fini */

FlowControl *
flow_control_new(Client *client)
{
    FlowControl *self = g_new0(FlowControl, 1);

    self->client = client;
    return self;
}

void
flow_control_free(FlowControl *self)
{
    if (self->wants_ping)
        g_queue_remove(&get_bus(self)->to_ping, self);
    g_clear_handle_id(&self->ping_again_id, g_source_remove);
    g_clear_handle_id(&self->rest_id, g_source_remove);
    g_clear_pointer(&self->ping, sd_bus_slot_unref);
    bus_statistics_drop(&get_bus(self)->statistics, self);
    g_free(self);
}
