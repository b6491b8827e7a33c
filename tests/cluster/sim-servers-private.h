/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the files of the simulated servers share: sim-connection.c serves clients, sim-leader.c
 * commits what they write, and sim-servers.c has leaders that come and go. */

#pragma once

#include "expiry-model.h"
#include "sim-channel.h"
#include "sim-servers.h"

typedef enum {
    DOWN,      /* doesn't serve clients: it was ended, or looks for a leader */
    FOLLOWING, /* or cut off, and has not noticed it yet */
    LEADING,
    ISOLATED, /* was the leader, and has not noticed yet that another one was elected */
} State;

typedef struct {
    SimServers *all;
    guint number;
    State state;
    gboolean is_ended, is_cut;
    gint64 healed_us;
    guint epoch; /* counts its states: what is to be done later is for one of them */
    guint term;  /* of the leader that it follows */
    SimTree *tree;
    guint applied;       /* transactions of the log */
    GHashTable *touched; /* guint64 -> guint, the time-out: since the last reply to a ping */
    GPtrArray *open;     /* of SimConnection */
    GHashTable *watched; /* set of paths that a connection has ever watched */
    SimChannel up, down; /* to and from the leader, of Packet */
    SimChannel to_apply; /* of Packet: the server is behind */
} Server;

typedef struct {
    guint64 id;
    guint timeout_ms; /* with which it was made */
    SimConnection *owner;
    gboolean has_ended;
} Session;

struct SimConnection {
    SimServers *servers;
    Server *server;
    guint host;
    guint64 session;
    guint timeout_ms; /* what the client asks for, and then what it has got */
    guint seen;
    gboolean is_open;       /* at the server */
    gboolean is_closed;     /* at the client */
    SimChannel up, down;    /* of SimRequest, NULL: the end; of SimMessage */
    GQueue requests;        /* at the server, in order: not answered yet; each has a reference */
    GHashTable *watches[2]; /* paths: of data, of children */
    void (*received)(SimMessage *message, gpointer data);
    gpointer data;
};

/* Between the leader and the others. */
typedef enum { PACKET_PING, PACKET_TOUCHED, PACKET_COMMIT, PACKET_REQUEST } PacketKind;

typedef struct {
    PacketKind kind;
    guint applied;       /* of COMMIT: how many of the log */
    SimRequest *request; /* to carry out; or which has been carried out, or NULL */
    GHashTable *touched;
} Packet;

void sim_packet_free(gpointer packet);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Packet, sim_packet_free)

struct SimServers {
    SimLoop *loop;
    gint64 tick_us;
    const SimServersClass *class;
    gpointer data;
    Server servers[SIM_SERVERS];
    guint reach[SIM_HOSTS_MAX];
    Server *leader; /* NULL: there is none */
    guint term;     /* counts the leaders */
    Expiry expiry;
    GQueue stalled;         /* of SimRequest: the leader is cut off */
    GPtrArray *closing;     /* of Session: they have expired meanwhile */
    GPtrArray *log;         /* of SimTransaction */
    GPtrArray *sessions;    /* of Session; the id is the index + 1 */
    GPtrArray *connections; /* all, also closed ones */
};

/* ---- sim-connection.c */

/* The server closes it. */
void sim_connection_break(SimConnection *connection);
void sim_connection_free(gpointer connection);

/* The server has applied what the request has led to. */
void sim_connection_finish(SimRequest *request);

/* The nodes of a server have changed: see SimTreeChanged. */
void sim_connection_changed(const char *path, gboolean are_children, gpointer server);

/* ---- sim-leader.c */

gint64 sim_leader_get_delay_us(SimLoop *loop);

/* Whether there is one, and it has a majority. */
gboolean sim_leader_can_commit(const SimServers *servers);

/* Carries out what was sent to it, or when it has a majority again. */
void sim_leader_carry_out(SimServers *servers, SimRequest *request);

/* Sends its followers a packet, and the one of them whose client has made it, the request. */
void sim_leader_tell(SimServers *servers, PacketKind kind, SimRequest *request);

/* Ends a session; `request` has asked for it, or NULL. */
void sim_leader_end_session(SimServers *servers, Session *session, SimRequest *request);
Session *sim_leader_find_session(const SimServers *servers, guint64 id);

/* A server applies what was committed. */
void sim_leader_apply(Server *server, guint applied);

/* Between a server and the leader. The request is borrowed. */
Packet *sim_packet_new(PacketKind kind, SimRequest *request);
void sim_server_init(Server *server, SimServers *servers, guint number);
void sim_server_clear(Server *server);
