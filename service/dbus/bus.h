/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection to the bus, with the outbox and flow control.
 *
 * bus_send() only queues a message; it is sent at the end of the turn, after the commit. The Bus
 * owns the connection, and is a part of the Server. */

#pragma once

#include "bucket-path.h"
#include "client.h"
#include "flow-control.h"
#include "outbox.h"
#include "sd-bus.h"

struct Bus {
    Server *server;     /* borrowed */
    sd_bus *connection; /* owned */
    Outbox outbox;
    FlowControls flow;
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

/* The same for a message with a file descriptor and next to no text. */
void bus_send_descriptor(Client *client, sd_bus_message *message);
