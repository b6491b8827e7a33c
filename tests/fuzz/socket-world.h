/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The server in this process, with a bus that is the test's, and clients with lock sockets.
 *
 * Everything is real but the bus and the question who a client is: calls come as D-Bus messages on
 * the connection to the bus, descriptors go by it, and the end of a client is a NameOwnerChanged.
 * Each client knows what it may expect: LIVE first, one answer to each call that the service could
 * read, in their order, and CLOSED before the end. What is otherwise is an assertion. */

#pragma once

#include <gio/gio.h>

#include "service/server/server.h"

#define N_PARTIES 2

typedef struct {
    char name[16]; /* its unique name; another one each time that it comes back */
    gboolean is_there;
    gboolean is_deaf; /* reads nothing */
    guint64 serial;   /* of its last packet */

    /* Of its lock socket. */
    int fd;             /* its end, -1: it has none */
    GArray *awaited;    /* serials of calls without an answer yet */
    guint64 bound;      /* bucket numbers, as bits */
    gboolean has_live;  /* the whole list has come */
    gboolean is_closed; /* CLOSED has come */
    gboolean is_broken; /* sent something malformed, or an empty packet: no more is served */
    gboolean is_over;   /* the first of these was an empty packet, which is the end of file */
    guint n_calls;      /* by the bus, since it came */
    GDBusMessage *ping; /* that the service sent it by the bus, and it has not answered */
} Party;

typedef struct {
    Server server;
    int bus_fd; /* the bus's end */
    guint32 bus_serial;
    GByteArray *received; /* by the bus, and not a whole message yet */
    GQueue descriptors;   /* received, and not given to a client yet */
    guint n_names;
    Party parties[N_PARTIES];
} SocketWorld;

/* Both clients are there, of one principal, without sockets. */
void socket_world_init(SocketWorld *world);

/* The clients leave, or, if `is_shutdown`, the service does. Asserts that nothing is left. */
void socket_world_fini(SocketWorld *world, gboolean is_shutdown);

/* Lets the service and the clients that are not deaf do all that there is to do. It must come to
 * rest, and then no client may be without an answer. */
void socket_world_serve(SocketWorld *world);

/* A call by the bus. `body` is consumed, or NULL. */
void socket_world_call(SocketWorld *world,
                       Party *party,
                       const char *path,
                       const char *interface,
                       const char *member,
                       GVariant *body);

/* Sends a packet of any bytes, if there is a socket with room for it. */
void socket_world_send(SocketWorld *world, Party *party, const void *packet, gsize size);

/* Closes its end. */
void socket_world_close(Party *party);

/* Its connection to the bus ends; coming back, it is another client. */
void socket_world_leave(SocketWorld *world, Party *party);
void socket_world_come_back(SocketWorld *world, Party *party);
