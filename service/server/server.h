/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The data that all parts of the server share: the session with the core, the bus, and the lock
 * sockets; and the end of a turn. service.c creates and frees the parts with separate data
 * (watches, lifecycle, state). */

#pragma once

#include "bus.h"
#include "client.h"
#include "packet-socket.h"

typedef struct Cluster Cluster;
typedef struct ClusterCalls ClusterCalls;
typedef struct LateReplies LateReplies;
typedef struct Lifecycle Lifecycle;
typedef struct Ownership Ownership;
typedef struct Recovery Recovery;
typedef struct Sleep Sleep;
typedef struct State State;
typedef struct Watches Watches;

typedef struct Server Server;
struct Server {
    Session session; /* the first member: see server_of() */
    Bus bus;
    PacketSockets *sockets;
    Watches *watches;
    LateReplies *late_replies;
    Lifecycle *lifecycle;
    Ownership *ownership;
    Recovery *recovery;          /* NULL unless the state is being restored */
    State *state;                /* the stored state; NULL: none */
    Cluster *cluster;            /* buckets of several hosts; NULL: this host is not configured */
    Sleep *sleep;                /* NULL if `cluster` is */
    ClusterCalls *cluster_calls; /* NULL if `cluster` is */
    GSource *deadline_source;    /* a timer for the next time-out of a request: clock.h */
    GSource *scheduler;          /* see scheduler.h */
    sd_bus_slot *disconnected;   /* these two: name-owner-changes.h */
    sd_bus_slot *owner_changed;
    guint n_unidentified; /* number of clients that are being identified */
    guint n_floods;       /* number of clients that are treated as flooding */
    gboolean verbose;     /* log each call */
    void (*after_turn)(Server *server);
};

/* Returns the server of a client. */
static inline Server *
server_of(const Client *client)
{
    return (Server *)client->session;
}

/* Takes the reference to `connection`. */
void server_init(Server *server, sd_bus *connection, const Limits *limits);
void server_fini(Server *server);

/* Commits the changes of the turn, sends its output, and sets the timer for the next time-out.
 *
 * A turn is one iteration of the main loop (service_run). Exceptions: in one dispatch, the
 * scheduler ends a turn between runnable clients and lock sockets, and one after each round of busy
 * sockets. Within a turn, turn_flush() is called where output has to be sent before something else:
 * before a lock socket is closed, before sd-bus replies to a call itself, and before the machine is
 * suspended. */
void server_end_turn(Server *server);
