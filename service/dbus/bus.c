/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus.h"

#include <errno.h>

#define RETRY_MS 20
/* The maximum number of messages in sd-bus's write queue, which could have 393,216. */
#define QUEUED_MAX 1024
/* The maximum number of bytes there, in addition to one message. */
#define BYTES_GIVEN_MAX (1024UL * 1024)
/* The approximate size of a message in addition to its strings. */
#define MESSAGE_BYTES 256
/* A message with a file descriptor takes as much of a turn: a bus has room for few. */
#define DESCRIPTOR_BYTES (64UL * 1024)

/* How often a bus that has closed the connection is tried, and the pause between. */
#define TRIES          5
#define TRY_PAUSE_USEC 10000

typedef struct {
    sd_bus_message *message;
    sd_bus_message *refusal; /* in its place, if its descriptors can't be sent; NULL: it has none */
    gsize n_bytes;
} BusMessage;

static void flush(TurnOutput *output);

static void
clear_message(gpointer data)
{
    BusMessage *item = data;

    sd_bus_message_unref(item->message);
    sd_bus_message_unref(item->refusal);
}

void
bus_init(Bus *bus, sd_bus *connection, Server *server)
{
    *bus = (Bus){.output = {.turn = &server->turn, .flush = flush}, .connection = connection};
    bus->messages = g_array_new(FALSE, FALSE, sizeof(BusMessage));
    g_array_set_clear_func(bus->messages, clear_message);
    g_queue_init(&bus->to_ping);
    bus_statistics_init(&bus->statistics, bus);
    server->bus = bus;
}

void
bus_fini(Bus *bus)
{
    bus_statistics_fini(&bus->statistics);
    g_clear_handle_id(&bus->retry_id, g_source_remove);
    turn_remove_output(&bus->output);
    g_array_unref(bus->messages);
    bucket_path_clear(&bus->called);
    /* Not flushed, since that would block if the bus does not read. */
    sd_bus_close(bus->connection);
    g_clear_pointer(&bus->connection, sd_bus_unref);
}

static gboolean
is_refused(const char *address)
{
    sd_bus *bus = NULL;
    int r = sd_bus_new(&bus);

    if (r >= 0)
        r = sd_bus_set_address(bus, address);
    if (r >= 0)
        r = sd_bus_start(bus); /* it connects, and does not wait for the authentication */
    sd_bus_close(bus);
    sd_bus_unref(bus);
    return r == -ECONNREFUSED || r == -ENOENT;
}

gboolean
bus_has_ended(const Bus *bus)
{
    const char *address = NULL;

    if (sd_bus_get_address(bus->connection, &address) < 0)
        return FALSE;
    for (guint i = 1; !is_refused(address); i++) {
        if (i == TRIES)
            return FALSE;
        g_usleep(TRY_PAUSE_USEC);
    }
    return TRUE;
}

static void
put(Bus *bus, sd_bus_message *message, sd_bus_message *refusal, gsize n_bytes)
{
    const BusMessage item = {message, refusal, n_bytes + MESSAGE_BYTES};

    g_array_append_val(bus->messages, item);
    bus->n_bytes += item.n_bytes;
    turn_add_output(&bus->output, item.n_bytes);
}

void
bus_send(Client *client, sd_bus_message *message, gsize n_bytes)
{
    flow_control_add(client->flow, n_bytes);
    put(client->server->bus, message, NULL, n_bytes);
}

void
bus_send_descriptor(Client *client, sd_bus_message *message, sd_bus_message *refusal)
{
    flow_control_add_descriptor(client->flow);
    put(client->server->bus, message, refusal, DESCRIPTOR_BYTES);
}

/* ---- sending */

static gboolean
on_retry(gpointer data)
{
    ((Bus *)data)->retry_id = 0; /* the end of the turn sends them */
    return G_SOURCE_REMOVE;
}

static guint64
count_queued(const Bus *bus)
{
    uint64_t n_queued = 0;

    return sd_bus_get_n_queued_write(bus->connection, &n_queued) < 0 ? 0 : n_queued;
}

/* Whether a short message would be sent immediately, so that sd-bus does not queue it, or sd-bus
 * has closed the connection and refuses it. */
static gboolean
is_writable(const Bus *bus)
{
    GPollFD poll_fd = {.fd = sd_bus_get_fd(bus->connection), .events = G_IO_OUT};

    return count_queued(bus) == 0 && (poll_fd.fd < 0 || g_poll(&poll_fd, 1, 0) == 1);
}

/* Returns FALSE if the message can't be sent now. */
static gboolean
send_message(Bus *bus, BusMessage *item)
{
    guint64 n_queued = count_queued(bus);
    int r;

    if (n_queued == 0)
        bus->n_bytes_given = 0;
    if (n_queued >= QUEUED_MAX || bus->n_bytes_given > BYTES_GIVEN_MAX)
        return FALSE; /* there will be when the socket has taken some */
    if (item->refusal != NULL && !is_writable(bus)) {
        if (bus->retry_id == 0)
            bus->retry_id = g_timeout_add(RETRY_MS, on_retry, bus);
        return FALSE;
    }
    r = sd_bus_send(bus->connection, item->message, NULL);
    /* The kernel refuses descriptors while too many of the user's have been sent and not received,
     * for as long as a program of that user wants, also a sandboxed one. Others don't wait for
     * that. (sd-bus would keep the message if it had a queue.) */
    if (r == -ETOOMANYREFS && item->refusal != NULL) {
        sd_bus_message_unref(item->message);
        item->message = g_steal_pointer(&item->refusal);
        r = sd_bus_send(bus->connection, item->message, NULL);
    }
    if (sd_bus_is_transient(r)) {
        if (bus->retry_id == 0)
            bus->retry_id = g_timeout_add(RETRY_MS, on_retry, bus);
        return FALSE;
    }
    /* After any other error the connection has ended, which its source will detect. */
    bus->n_bytes_given += item->n_bytes;
    bus->n_bytes -= item->n_bytes;
    if (r < 0)
        g_debug("could not send a message: %s", g_strerror(-r));
    return TRUE;
}

static void
flush(TurnOutput *output)
{
    Bus *bus = (Bus *)output;
    guint n_sent = 0;

    while (n_sent < bus->messages->len && sd_bus_is_open(bus->connection) > 0 &&
           send_message(bus, &g_array_index(bus->messages, BusMessage, n_sent)))
        n_sent++;
    if (n_sent > 0)
        g_array_remove_range(bus->messages, 0, n_sent);
    bus->is_blocked = !bus_is_sent(bus);
}

gboolean
bus_is_sent(const Bus *bus)
{
    return bus->messages->len == 0;
}

gboolean
bus_is_written(const Bus *bus)
{
    return bus_is_sent(bus) && count_queued(bus) == 0;
}

gboolean
bus_is_backed_up(const Bus *bus)
{
    return bus->is_blocked || count_queued(bus) >= QUEUED_MAX;
}
