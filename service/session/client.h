/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client, which is a connection to the bus, and the server: all clients, the core and the turn.
 * These are what the bus layer and the socket layer share.
 *
 * A client exists from the first call of its unique name until the name disconnects from the bus.
 * Its agent is created when it has been identified. Other layers store their data for the client
 * or the server behind opaque pointers. The server owns its clients; a client owns a reference to
 * its agent.
 *
 * Calls on the bus are deferred if the client is not identified yet, has unread replies, or does
 * not read its lock socket. Their bytes have a limit for each client and one in total. */

#pragma once

#include <glib.h>

#include "cluster-config.h"
#include "lock-call.h"
#include "turn.h"
#include "user-agent.h"

typedef struct Admission Admission;
typedef struct Bus Bus;
typedef struct CellPage CellPage;
typedef struct Cluster Cluster;
typedef struct FlowControl FlowControl;
typedef struct Ownership Ownership;
typedef struct PacketSocket PacketSocket;
typedef struct PacketSockets PacketSockets;
typedef struct Sleep Sleep;
typedef struct State State;

typedef enum {
    SERVER_STARTING, /* calls are deferred */
    SERVER_RUNNING,
    SERVER_STOPPING, /* the name is being released */
    SERVER_DRAINING, /* the name is released; what was sent before is served */
    SERVER_ENDED,    /* nothing is served or sent any more */
} ServerStage;

typedef struct Server Server;
struct Server {
    ServerStage stage;   /* this and the next four are of server/lifecycle.c */
    gint64 idle_exit_us; /* 0: never */
    guint idle_id;
    guint stop_deadline_id;
    int exit_status;
    UserAgent user_agent;
    Turn turn;
    GHashTable *clients;    /* unique name -> Client, owned */
    gsize n_bytes_deferred; /* of the deferred calls of all clients */
    guint n_unidentified;   /* number of clients that are being identified */
    guint n_floods;         /* number of clients that are treated as flooding */
    gboolean serves_groups; /* it is on the system bus: groups have buckets, documents none */
    gboolean verbose;       /* log each call */

    /* The other parts are owned by server/server.c, which creates and frees them. */
    Bus *bus;               /* of dbus/bus.c */
    PacketSockets *sockets; /* of socket/packet-socket.c */
    Cluster *cluster; /* of cluster/cluster.c: buckets of several hosts; NULL: not configured */
    const ClusterConfig *cluster_config; /* likewise; borrowed */
    State *state;                        /* of state/state.c: the stored state; NULL: none */
    Ownership *ownership;                /* these: of server/ */
    GPtrArray *cluster_calls;            /* of server/cluster-calls.c; NULL if `cluster` is */
    GPtrArray *portal_calls;             /* of server/document-calls.c */
    Sleep *sleep;                        /* NULL if `cluster` is */
    GSource *scheduler;                  /* see scheduler.h */
    GSource *bus_source;

    void (*client_free)(Client *client); /* frees the data of higher layers */
};

struct Client {
    Server *server; /* borrowed */
    char *unique_name;
    Agent *agent;           /* NULL until identified; its server_data is this client */
    const Channel *channel; /* for events: that of its lock socket if one is open */
    const Channel *default_channel;
    GQueue deferred;        /* of LockCall, owned: deferred calls on the bus */
    gsize n_bytes_deferred; /* the memory that these use */
    guint64 socket_barrier; /* position in its lock socket that must be reached before these */
    guint32 *gids;          /* its process's groups when it connected, if they are needed */
    gsize n_gids;
    gboolean is_flood;  /* its calls are dropped until it has read its messages */
    gboolean is_gone;   /* its name has disconnected; its last calls are being served */
    gboolean is_ending; /* also at the shutdown: its last calls are being or have been served */
    GList in_runnable;  /* private to turn.c */

    Admission *admission; /* of server/admission.c */
    GQueue watches;       /* of server/watches.c: Watch, by Watch.in_client */
    GQueue documents;     /* of documents/opened.c: OpenedDocument, the oldest first */
    FlowControl *flow;    /* of dbus/flow-control.c */
    PacketSocket *socket; /* of socket/packet-socket.c; NULL: none is open */
    CellPage *page;       /* of state/cell-pages.c, for that socket; NULL: it has no cells */
};

/* Initializes and frees this layer's part: the core, the clients and their calls. */
void server_init(Server *server, const Limits *limits);

/* Frees all clients; the user agent must have no request left. */
void server_fini(Server *server);

/* Whether calls are served: from the end of the start to the end of the service. */
static inline gboolean
server_is_serving(const Server *server)
{
    return server->stage != SERVER_STARTING && server->stage != SERVER_ENDED;
}

Client *server_find_client(const Server *server, const char *unique_name);

/* Adds a client with a new unique name. Returns it, borrowed. */
Client *server_add_client(Server *server, const char *unique_name, const Channel *channel);
void server_remove_client(Client *client);

/* Sets the client's agent; takes a new reference to it. */
void client_set_agent(Client *client, Agent *agent);

/* Whether one more call may be deferred. The last one may exceed the limit, by one call. */
gboolean client_may_defer(const Client *client);

/* Appends a copy of the call to the deferred calls. */
void client_defer(Client *client, const LockCall *call);

/* Removes the first deferred call and returns it, owned by the caller; NULL: there is none. */
LockCall *client_take_deferred(Client *client);
void client_drop_deferred(Client *client);

/* Returns the client with the most deferred bytes, of the uid that has the most; NULL: no client
 * has any. Clients that are not identified count as those of one uid. */
Client *server_find_greatest(const Server *server);

/* ---- whose bucket a call is about: see server/target.h */

typedef struct {
    LockResult result; /* LOCK_RESULT_OK, or why the call is refused */
    PrincipalIdentity owner;
    Principal *principal; /* of the owner, borrowed; NULL: it has no bucket in use */
    const char *bucket;   /* the owner's name of it, as long as the call; NULL: of no bucket */
    const char *name;     /* of the lock there; NULL: the call has none */
} Target;

/* Returns the manager of the bucket, borrowed, or NULL if it is neither in use nor watched. */
LockManager *target_find_manager(const Target *target);

/* Whether the client may use the buckets of a group: a member, or uid 0, in no sandbox. */
gboolean client_is_member(const Client *client, guint32 gid);

/* Whether the client may use a configured bucket of a cluster. */
gboolean client_is_admitted(const Client *client, const char *bucket);

/* Whether the client may look at the buckets of a principal. */
gboolean client_may_observe(const Client *client, const Principal *observed);
