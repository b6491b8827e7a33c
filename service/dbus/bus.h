/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection to the bus, and the queue of messages that are sent on it at the end of the turn,
 * after the commit.
 *
 * Messages are sent in order, while sd-bus's own write queue is short. That queue is never filled,
 * because sd-bus drops messages that don't fit. The Bus owns the connection and the queued
 * messages, and is a part of the Server. */

#pragma once

#include "bucket-path.h"
#include "bus-statistics.h"
#include "client.h"
#include "flow-control.h"
#include "sd-bus.h"

struct Bus {
    TurnOutput output;
    sd_bus *connection;  /* owned */
    GArray *messages;    /* of BusMessage, which are queued */
    gsize n_bytes;       /* approximate size of these */
    gsize n_bytes_given; /* passed to sd-bus since its write queue was last empty */
    gboolean is_blocked; /* the last flush could not send everything */
    guint retry_id;
    GQueue to_ping; /* of FlowControl: to be sent a Ping at the end of the turn */
    BusStatistics statistics;
    sd_bus_message *served; /* not owned; the call that is being served, unless it was deferred */
    BucketPath called;      /* the bucket of the call that was decoded last: see decode.h */
};

/* Takes the reference to `connection`. */
void bus_init(Bus *bus, sd_bus *connection, Server *server);

/* Closes the connection; queued messages are dropped. */
void bus_fini(Bus *bus);

/* Takes `message` and sends it to the client at the end of the turn. `n_bytes` is the approximate
 * size of its strings. */
void bus_send(Client *client, sd_bus_message *message, gsize n_bytes);

/* The same for a message with file descriptors and next to no text. Takes `refusal` as well, which
 * is sent in its place if the kernel does not let the service send descriptors. */
void bus_send_descriptor(Client *client, sd_bus_message *message, sd_bus_message *refusal);

/* Whether all messages have been passed to sd-bus, and whether the socket has accepted them. */
gboolean bus_is_sent(const Bus *bus);
gboolean bus_is_written(const Bus *bus);

/* Whether the bus, which has closed the connection, accepts no other one: then all unique names are
 * over. It may close its listening socket a moment after its connections, so this waits up to
 * 50 ms. */
gboolean bus_has_ended(const Bus *bus);

/* Whether the socket accepts no more output now. Then no more calls should be read from it. */
gboolean bus_is_backed_up(const Bus *bus);
