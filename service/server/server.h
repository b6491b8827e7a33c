/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What all parts of the server work on: the session with the core, the bus, the lock sockets, and
 * the end of a turn. The parts that keep state of their own are made and freed by service.c. */

#pragma once

#include "bus.h"
#include "client.h"
#include "packet-socket.h"

typedef struct Lifecycle Lifecycle;
typedef struct Startup Startup;
typedef struct State State;
typedef struct Watches Watches;

typedef struct Server Server;
struct Server {
    Session session; /* the first member: see server_of() */
    Bus bus;
    PacketSockets *sockets;
    Watches *watches;
    Lifecycle *lifecycle;
    Startup *startup;         /* NULL: the service has begun, and serves calls */
    State *state;             /* what outlives the service; NULL: nothing does */
    GSource *deadline_source; /* ready when the next request times out */
    GSource *scheduler;       /* see scheduler.h */
    sd_bus_slot *name_owner_changed;
    guint n_unidentified; /* clients that are being identified */
    guint n_floods;
    gboolean is_ending; /* the name has been released; deferred calls have been served */
    gboolean verbose;   /* log each call */
    void (*after_turn)(Server *server);
};

/* The server of a client. */
static inline Server *
server_of(const Client *client)
{
    return (Server *)client->session;
}

/* Takes the reference on `connection`. `on_deadline` is called, in a turn of its own, when a
 * request times out. */
void server_init(Server *server,
                 sd_bus *connection,
                 const Limits *limits,
                 void (*on_deadline)(Server *server));
void server_fini(Server *server);

/* Commits and sends what the turn has changed, and arms the timer of the next time-out. */
void server_end_turn(Server *server);
