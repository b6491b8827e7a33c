/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Simulated ZooKeeper servers, with ZooKeeper's guarantees and nothing beyond them.
 *
 * The leader commits writes in one order. Each server applies them some time later, and answers
 * reads from what it has applied; a client never reads an older state than before. A server that is
 * cut off from the others continues to answer reads for a while. The requests of a connection are
 * answered in order. A request on its way when a connection breaks is lost, or carried out without
 * an answer until the session has another connection. Sessions end by expiry-model.h.
 *
 * A connection that breaks takes its watches with it. */

#pragma once

#include "sim-loop.h"
#include "sim-tree.h"

#define SIM_SERVERS     3
#define SIM_HOSTS_MAX   1000
#define SIM_ALL_SERVERS ((1u << SIM_SERVERS) - 1)

/* After a server was cut off, it is not cut off again for this time, in which it replies to the
 * pings that came meanwhile: cluster/engine/touches.h takes that for granted. */
#define SIM_TOLD_US (500 * MS)

typedef struct SimServers SimServers;
typedef struct SimConnection SimConnection;

typedef enum {
    SIM_GET,
    SIM_CHILDREN,
    SIM_EXISTS,
    SIM_SYNC,
    SIM_WRITE,
    SIM_CLOSE, /* ends the session */
    SIM_PING,
    SIM_CONNECT, /* the first one of a connection */
} SimRequestKind;

/* By g_rc_box_new0(). */
typedef struct {
    SimRequestKind kind;
    char *path; /* of reads */
    gboolean watches;
    SimTransaction *transaction; /* of WRITE */
    /* Of the answer; of a read, what the server has. */
    int r;        /* ZOK, or ZooKeeper's error */
    guint failed; /* of a transaction: which operation */
    char *text;
    gint32 version;
    GPtrArray *children;
    guint seen; /* how much the server had applied */
    /* The servers' own. */
    SimConnection *connection;
    gboolean is_done;
} SimRequest;

SimRequest *sim_request_new(SimRequestKind kind, const char *path);
void sim_request_unref(SimRequest *request);

typedef enum {
    SIM_ACCEPTED,
    SIM_EXPIRED,
    SIM_ANSWERED,
    SIM_FIRED, /* a watch */
    SIM_BROKEN,
} SimMessageKind;

typedef struct {
    SimMessageKind kind;
    SimRequest *request; /* of ANSWERED */
    char *path;          /* of FIRED */
    gboolean are_children;
    guint64 session; /* of ACCEPTED */
    guint timeout_ms;
} SimMessage;

void sim_message_free(gpointer message);

/* What the servers have committed, which sessions have expired, and what was answered. */
typedef struct {
    void (*committed)(const SimTransaction *transaction, gpointer data);
    void (*expired)(guint64 session, gpointer data);
    /* A server answers a request. NULL: this is not of interest. */
    void (*answered)(const SimRequest *request, gpointer data);
} SimServersClass;

SimServers *
sim_servers_new(SimLoop *loop, gint64 tick_us, const SimServersClass *class, gpointer data);
void sim_servers_free(SimServers *servers);

/* Opens a connection, in a new session if `session` is 0. `seen` is of the last answer that the
 * client had. `received` owns the message, and is not called after sim_connection_close(). */
SimConnection *sim_servers_connect(SimServers *servers,
                                   guint host,
                                   guint server,
                                   guint64 session,
                                   guint timeout_ms,
                                   guint seen,
                                   void (*received)(SimMessage *message, gpointer data),
                                   gpointer data);

/* Takes the request. They are answered in the order in which they were sent. */
void sim_connection_send(SimConnection *connection, SimRequest *request);

/* With `is_lossy`, what was sent may be lost. */
void sim_connection_close(SimConnection *connection, gboolean is_lossy);

/* ---- faults */

/* Breaks all connections of a host. */
void sim_servers_break(SimServers *servers, guint host);
/* The host reaches only these servers, a set of bits. */
void sim_servers_set_reach(SimServers *servers, guint host, guint reach);
/* Servers have lost contact to the others; one at a time. */
void sim_servers_cut(SimServers *servers, guint server, gboolean is_cut);
/* Ends the leader, which is started again later. */
void sim_servers_end_leader(SimServers *servers);
/* The number of the server of a host's last connection, or -1. */
int sim_servers_get_server(const SimServers *servers, guint host);

/* Until when the leader keeps the session of a host's last connection that is not only to learn the
 * servers' tick, as far as it knows now; -1: it has ended. */
gint64 sim_servers_get_end_us(const SimServers *servers, guint host);
