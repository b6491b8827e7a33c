/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A connection to the bus that the service knows, and the session: all of them, the core and the
 * turn. It is what the rooms for the bus and for lock sockets have in common.
 *
 * A client is known by its unique name from its first call until its name leaves the bus. Its agent
 * is made when it has been identified. What other rooms keep about it hangs on it by pointers that
 * only they look behind. */

#pragma once

#include <glib.h>

#include "agent.h"
#include "call-queue.h"
#include "lock-call.h"
#include "turn.h"
#include "user-agent.h"

typedef struct Admission Admission;
typedef struct Bus Bus;
typedef struct FlowControl FlowControl;
typedef struct PacketSocket PacketSocket;

typedef struct Session {
    UserAgent user_agent;
    Turn turn;
    GHashTable *clients;                 /* unique name -> Client, owned */
    CallQueueTotals deferred;            /* of all clients */
    Bus *bus;                            /* not owned; of dbus/bus.c */
    void (*client_free)(Client *client); /* frees what upper rooms keep about it */
} Session;

struct Client {
    Session *session; /* not owned */
    char *unique_name;
    Agent *agent;           /* NULL until identified; its edge_data is this client */
    const Channel *channel; /* by which it is told of events: that of its socket, if one is open */
    const Channel *default_channel;
    CallQueue deferred;      /* calls by the bus that wait */
    guint64 deferred_behind; /* the position in its lock socket that has to be reached before */
    gboolean is_flood;       /* ignored until it has read what it was sent */
    gboolean is_gone;        /* its name has left the bus; its last calls are being served */
    GList in_runnable;       /* of turn.c */

    Admission *admission; /* of server/admission.c */
    GQueue watches;       /* of server/watches.c: Watch, by Watch.in_client */
    FlowControl *flow;    /* of dbus/flow-control.c: how far it has read what came by the bus */
    PacketSocket *socket; /* of socket/packet-socket.c; NULL: none is open */
};

void session_init(Session *session, const Limits *limits);

/* Frees all clients; the user agent must have no request left. */
void session_fini(Session *session);

/* Tells the core the time. Before every operation of it. */
void session_tick(Session *session);

Client *session_find_client(const Session *session, const char *unique_name);

/* A new client of a name that has none. */
Client *session_add_client(Session *session, const char *unique_name, const Channel *channel);
void session_remove_client(Client *client);

/* Gives it its agent (a new reference). */
void client_set_agent(Client *client, Agent *agent);
