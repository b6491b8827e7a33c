/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus.h"

/* A message with a file descriptor takes as much of a turn: a bus has room for few. */
#define DESCRIPTOR_BYTES (64UL * 1024)

void
bus_init(Bus *bus, sd_bus *connection, Server *server)
{
    *bus = (Bus){.server = server, .connection = connection};
    server->bus = bus;
    outbox_init(&bus->outbox, connection, &server->turn);
    flow_controls_init(&bus->flow, connection, &bus->outbox);
}

void
bus_fini(Bus *bus)
{
    flow_controls_fini(&bus->flow);
    outbox_fini(&bus->outbox);
    bucket_path_clear(&bus->called);
    /* Not flushed, since that would block if the bus does not read. */
    sd_bus_close(bus->connection);
    g_clear_pointer(&bus->connection, sd_bus_unref);
}

void
bus_send(Client *client, sd_bus_message *message, gsize n_bytes)
{
    flow_control_add(client->flow, n_bytes);
    outbox_put(&client->server->bus->outbox, message, n_bytes);
}

void
bus_send_descriptor(Client *client, sd_bus_message *message)
{
    flow_control_add_descriptor(client->flow);
    outbox_put(&client->server->bus->outbox, message, DESCRIPTOR_BYTES);
}
