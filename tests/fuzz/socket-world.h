/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The server in this process, with the test at the other end of its bus connection, and clients
 * with lock sockets.
 *
 * Everything is real except the bus and the identification of clients: calls are D-Bus messages on
 * the bus connection, descriptors are passed on it, and a disconnect is a NameOwnerChanged. The
 * invariants of clients are in socket-party.h; in addition, the service must become idle, its
 * accounts must be right, and at the end no object may be left. */

#pragma once

#include <gio/gio.h>

#include "service/session/client.h"
#include "tests/fuzz/socket-party.h"

#define N_PARTIES 2

typedef struct {
    Server *server;
    int bus_fd; /* the bus's end */
    guint32 bus_serial;
    GByteArray *received; /* an incomplete message of the bus connection */
    GQueue descriptors;   /* received, and not yet passed to a client */
    guint n_names;
    Party parties[N_PARTIES];
} SocketWorld;

/* Both clients are connected, of one principal, without sockets. */
void socket_world_init(SocketWorld *world);

/* The clients disconnect or, with `is_shutdown`, the service shuts down. Asserts that no object is
 * left. */
void socket_world_fini(SocketWorld *world, gboolean is_shutdown);

/* Lets the service and the clients that read process everything. It must become idle, and then
 * every call must be answered. */
void socket_world_serve(SocketWorld *world);

/* A call on the bus. `body` is consumed, or NULL. */
void socket_world_call(SocketWorld *world,
                       Party *party,
                       const char *path,
                       const char *interface,
                       const char *member,
                       GVariant *body);

/* Sends a packet of any bytes, if there is a socket that is not full. */
void socket_world_send(SocketWorld *world, Party *party, const void *packet, gsize size);

/* Disconnects it from the bus; after reconnecting, it is another client. */
void socket_world_leave(SocketWorld *world, Party *party);
void socket_world_come_back(SocketWorld *world, Party *party);
