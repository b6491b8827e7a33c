/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-statistics.h"

#include "bus-names.h"
#include "bus.h"

#define STATISTICS_INTERFACE "org.freedesktop.DBus.Debug.Stats"
/* The key of both interfaces that is wanted, and the key of dbus-broker's list of connections. */
#define KEY_OUTGOING_BYTES "OutgoingBytes"
#define KEY_CONNECTIONS    "org.bus1.DBus.Debug.Stats.PeerAccounting"
#define TYPE_CONNECTIONS   "a(sa{sv}a{su})"

/* The pause before a round. */
#define ROUND_MS 5
/* It is 1 ms longer for so many connections that GetStats lists. One takes 2 us of dbus-broker. */
#define CONNECTIONS_PER_MS 10
/* The pause if the bus refuses statistics: its policy may change. */
#define REFUSED_MS 60000
/* Calls of GetConnectionStats in a round. */
#define ASKED_MAX 16

void
bus_statistics_init(BusStatistics *self, const Bus *bus)
{
    *self = (BusStatistics){.bus = bus};
    g_queue_init(&self->waiting);
    g_queue_init(&self->asked);
}

void
bus_statistics_fini(BusStatistics *self)
{
    g_clear_handle_id(&self->next_round_id, g_source_remove);
    g_clear_pointer(&self->all_asked, sd_bus_slot_unref);
}

/* ---- questions */

static void
put(FlowControl *flow, GQueue *queue, gboolean is_first)
{
    if (flow->asked_in != NULL)
        g_queue_unlink(flow->asked_in, &flow->in_asked);
    flow->asked_in = queue;
    flow->in_asked.data = flow;
    if (queue != NULL && is_first)
        g_queue_push_head_link(queue, &flow->in_asked);
    else if (queue != NULL)
        g_queue_push_tail_link(queue, &flow->in_asked);
}

static guint
get_pause_ms(const BusStatistics *self)
{
    switch (self->method) {
    case BUS_STATISTICS_BY_CONNECTION:
        return ROUND_MS;
    case BUS_STATISTICS_OF_ALL:
        return ROUND_MS + self->n_connections / CONNECTIONS_PER_MS;
    case BUS_STATISTICS_REFUSED:
        return REFUSED_MS;
    }
    return REFUSED_MS;
}

static gboolean on_next_round(gpointer data);

static void
plan_next_round(BusStatistics *self)
{
    if (self->next_round_id == 0 && self->waiting.length > 0 && self->asked.length == 0 &&
        self->all_asked == NULL)
        self->next_round_id = g_timeout_add(get_pause_ms(self), on_next_round, self);
}

/* FALSE: it is no longer needed. */
static gboolean
begin(BusStatistics *self, FlowControl *flow)
{
    gboolean is_needed = flow_control_begin_question(flow);

    put(flow, is_needed ? &self->asked : NULL, FALSE);
    return is_needed;
}

static void
answer(FlowControl *flow, guint64 n_bytes)
{
    put(flow, NULL, FALSE);
    g_clear_pointer(&flow->asked, sd_bus_slot_unref);
    flow_control_on_statistics(flow, n_bytes);
}

void
bus_statistics_ask(BusStatistics *self, FlowControl *flow, gboolean is_first)
{
    if (flow->asked_in != NULL)
        return;
    put(flow, &self->waiting, is_first);
    plan_next_round(self);
}

void
bus_statistics_drop(BusStatistics *self, FlowControl *flow)
{
    if (flow->asked_in == NULL)
        return;
    put(flow, NULL, FALSE);
    g_clear_pointer(&flow->asked, sd_bus_slot_unref);
    plan_next_round(self);
}

static sd_bus_message *
new_call(const BusStatistics *self, const char *member)
{
    sd_bus_message *call = NULL;
    int r = sd_bus_message_new_method_call(self->bus->connection, &call, BUS_DRIVER_NAME,
                                           BUS_DRIVER_PATH, STATISTICS_INTERFACE, member);

    g_assert(r >= 0);
    return call;
}

/* Neither sd-bus's own error, nor a forged reply of another client. */
static gboolean
is_from_bus(sd_bus_message *reply)
{
    return g_strcmp0(sd_bus_message_get_sender(reply), BUS_DRIVER_NAME) == 0;
}

/* Finds the value of a key in a reply of type a{sv}; it is read next. FALSE if it is
 * not there. */
static gboolean
find_key(sd_bus_message *reply, const char *wanted)
{
    const char *key;

    if (sd_bus_message_enter_container(reply, 'a', "{sv}") < 0)
        return FALSE;
    while (sd_bus_message_enter_container(reply, 'e', "sv") > 0) {
        if (sd_bus_message_read_basic(reply, 's', &key) < 0)
            return FALSE;
        if (g_str_equal(key, wanted))
            return TRUE;
        if (sd_bus_message_skip(reply, "v") < 0 || sd_bus_message_exit_container(reply) < 0)
            return FALSE;
    }
    return FALSE;
}

/* ---- GetStats */

/* FALSE: the reply is not what was expected. */
static gboolean
read_connection(sd_bus_message *reply, GHashTable *bytes)
{
    const char *unique_name, *key;
    guint32 value;
    int r;

    if (sd_bus_message_read_basic(reply, 's', &unique_name) < 0 ||
        sd_bus_message_skip(reply, "a{sv}") < 0 ||
        sd_bus_message_enter_container(reply, 'a', "{su}") < 0)
        return FALSE;
    while ((r = sd_bus_message_read(reply, "{su}", &key, &value)) > 0)
        if (g_str_equal(key, KEY_OUTGOING_BYTES))
            g_hash_table_insert(bytes, (gpointer)unique_name, GUINT_TO_POINTER(value));
    return r >= 0 && sd_bus_message_exit_container(reply) >= 0;
}

/* Enters the array of connections in a reply to GetStats. */
static gboolean
find_connections(sd_bus_message *reply)
{
    return sd_bus_message_is_method_error(reply, NULL) <= 0 && find_key(reply, KEY_CONNECTIONS) &&
           sd_bus_message_enter_container(reply, 'v', TYPE_CONNECTIONS) > 0 &&
           sd_bus_message_enter_container(reply, 'a', "(sa{sv}a{su})") >= 0;
}

/* By unique name, in `bytes`, whose keys are in the reply. */
static gboolean
read_connections(sd_bus_message *reply, GHashTable *bytes)
{
    int r;

    if (!find_connections(reply))
        return FALSE;
    while ((r = sd_bus_message_enter_container(reply, 'r', "sa{sv}a{su}")) > 0)
        if (!read_connection(reply, bytes) || sd_bus_message_exit_container(reply) < 0)
            return FALSE;
    return r >= 0;
}

static int
on_all(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    g_autoptr(GHashTable) bytes = g_hash_table_new(g_str_hash, g_str_equal);
    BusStatistics *self = userdata;
    FlowControl *flow;

    g_clear_pointer(&self->all_asked, sd_bus_slot_unref);
    if (is_from_bus(reply)) {
        self->method =
            read_connections(reply, bytes) ? BUS_STATISTICS_OF_ALL : BUS_STATISTICS_REFUSED;
        self->n_connections = g_hash_table_size(bytes);
    }
    while ((flow = g_queue_peek_head(&self->asked)) != NULL) {
        gpointer value;
        gboolean is_known =
            g_hash_table_lookup_extended(bytes, flow->client->unique_name, NULL, &value);

        answer(flow, is_known ? GPOINTER_TO_UINT(value) : BUS_STATISTICS_UNKNOWN);
    }
    plan_next_round(self);
    return 1;
}

/* All that wait. */
static void
ask_all(BusStatistics *self)
{
    g_autoptr(SdBusMessage) call = new_call(self, "GetStats");

    for (GList *link = self->waiting.head, *next; link != NULL; link = next) {
        next = link->next;
        begin(self, link->data);
    }
    if (self->asked.length == 0)
        return;
    if (sd_bus_call_async(self->bus->connection, &self->all_asked, call, on_all, self, UINT64_MAX) <
        0)
        while (self->asked.length > 0)
            put(g_queue_peek_tail(&self->asked), &self->waiting, TRUE);
}

/* ---- GetConnectionStats */

/* BUS_STATISTICS_UNKNOWN if it is not there. */
static guint64
read_outgoing_bytes(sd_bus_message *reply)
{
    guint32 value;

    if (!find_key(reply, KEY_OUTGOING_BYTES) || sd_bus_message_read(reply, "v", "u", &value) <= 0)
        return BUS_STATISTICS_UNKNOWN;
    return value;
}

static int
on_connection(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    FlowControl *flow = userdata;
    BusStatistics *self = &flow->client->server->bus->statistics;
    guint64 n_bytes = BUS_STATISTICS_UNKNOWN;

    g_clear_pointer(&flow->asked, sd_bus_slot_unref);
    if (sd_bus_message_is_method_error(reply, NULL) <= 0 && is_from_bus(reply))
        n_bytes = read_outgoing_bytes(reply);
    /* The client is connected, unless it has just disconnected: then the bus has no such method,
     * or it does not let us call it. */
    if (n_bytes == BUS_STATISTICS_UNKNOWN && is_from_bus(reply) &&
        sd_bus_message_is_method_error(reply, BUS_ERROR_NAME_HAS_NO_OWNER) <= 0) {
        self->method = BUS_STATISTICS_OF_ALL;
        put(flow, &self->waiting, TRUE);
    } else {
        if (n_bytes != BUS_STATISTICS_UNKNOWN)
            self->method = BUS_STATISTICS_BY_CONNECTION; /* also if it was refused before */
        answer(flow, n_bytes);
    }
    plan_next_round(self);
    return 1;
}

static void
ask_each(BusStatistics *self)
{
    guint n_left = self->method == BUS_STATISTICS_REFUSED ? 1 : ASKED_MAX;

    while (n_left > 0 && self->waiting.length > 0) {
        FlowControl *flow = g_queue_peek_head(&self->waiting);
        g_autoptr(SdBusMessage) call = NULL;

        if (!begin(self, flow))
            continue;
        n_left--;
        call = new_call(self, "GetConnectionStats");
        if (sd_bus_message_append_basic(call, 's', flow->client->unique_name) < 0 ||
            sd_bus_call_async(self->bus->connection, &flow->asked, call, on_connection, flow,
                              UINT64_MAX) < 0) {
            put(flow, &self->waiting, TRUE);
            return;
        }
    }
}

/* ---- rounds */

static gboolean
on_next_round(gpointer data)
{
    BusStatistics *self = data;

    self->next_round_id = 0;
    /* Messages that are sent after the question would not be in the answer. */
    if (bus_is_sent(self->bus) && !bus_is_backed_up(self->bus)) {
        if (self->method == BUS_STATISTICS_OF_ALL)
            ask_all(self);
        else
            ask_each(self);
    }
    plan_next_round(self);
    return G_SOURCE_REMOVE;
}
