/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client, which is a connection to the bus, and the session: all clients, the core and the turn.
 * These are what the bus layer and the socket layer share.
 *
 * A client exists from the first call of its unique name until the name disconnects from the bus.
 * Its agent is created when it has been identified. Other layers store their data for the client
 * behind opaque pointers. The session owns its clients; a client owns a reference to its agent. */

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
    Bus *bus;                            /* borrowed; of dbus/bus.c */
    void (*client_free)(Client *client); /* frees the data of higher layers */
} Session;

struct Client {
    Session *session; /* borrowed */
    char *unique_name;
    Agent *agent;           /* NULL until identified; its server_data is this client */
    const Channel *channel; /* for events: that of its lock socket if one is open */
    const Channel *default_channel;
    CallQueue deferred;      /* deferred calls on the bus */
    guint64 deferred_behind; /* position in its lock socket that must be reached before these */
    guint32 *gids;           /* its process's groups when it connected, if they are needed */
    gsize n_gids;
    gboolean is_flood;  /* its calls are dropped until it has read its messages */
    gboolean is_gone;   /* its name has disconnected; its last calls are being served */
    gboolean is_ending; /* also at the shutdown: its last calls are being or have been served */
    GList in_runnable;  /* private to turn.c */

    Admission *admission; /* of server/admission.c */
    GQueue watches;       /* of server/watches.c: Watch, by Watch.in_client */
    FlowControl *flow;    /* of dbus/flow-control.c */
    PacketSocket *socket; /* of socket/packet-socket.c; NULL: none is open */
};

void session_init(Session *session, const Limits *limits);

/* Frees all clients; the user agent must have no request left. */
void session_fini(Session *session);

/* Sets the core's time. Has to be called before every operation of the core. */
void session_tick(Session *session);

Client *session_find_client(const Session *session, const char *unique_name);

/* Adds a client with a new unique name. Returns it, borrowed. */
Client *session_add_client(Session *session, const char *unique_name, const Channel *channel);
void session_remove_client(Client *client);

/* Sets the client's agent; takes a new reference to it. */
void client_set_agent(Client *client, Agent *agent);

/* Returns the identity of the principal whose bucket the call refers to: the caller's own, or that
 * of the object path. */
PrincipalIdentity client_get_owner(const Client *client, const LockCall *call);

/* Returns the manager of the bucket that the call refers to, borrowed, or NULL if the bucket is
 * neither in use nor watched. */
LockManager *client_find_manager(const Client *client, const LockCall *call);
