/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The session with the engine, one after the other: connects, joins, or takes over the one of an
 * earlier process of this host, and renews the lease.
 *
 * A session is ready while operations can be started. It is interrupted while there is no
 * connection; all operations in progress have then been answered with ENGINE_CONNECTION_LOST. It
 * ends when the engine reports it, when the lease is over, or when an operation fails in a way that
 * is not understood; another one is begun then. A session that has ended is closed when the lock
 * service has notified its clients, or two seconds after the end of the lease: until then the
 * engine keeps its nodes.
 *
 * A session keeps its time-out, also over a restart with another one in the configuration. Then it
 * is replaced as soon as there are no nodes. */

#pragma once

#include "cluster-packet.h"
#include "engine.h"
#include "gateway.h"
#include "lease.h"

typedef struct Session Session;

/* What is counted since this process was started. Times are in seconds. A turn is granted, or
 * handed over by another host, which had to be waited for; its time counts from when it was
 * requested, or the claim in the way was gone. */
typedef enum {
    METRIC_GRANTS,
    METRIC_GRANT_SECONDS,
    METRIC_HAND_OVERS,
    METRIC_HAND_OVER_SECONDS,
    METRIC_REFUSED_GRANTS, /* and steals: something was stolen meanwhile */
    METRIC_RECONNECTS,
    METRIC_SESSIONS_LOST,
    METRIC_LEAST_LEASE_LEFT, /* when the lease was renewed; 0: it has ended */
    METRIC_HIGHEST_TOKEN,    /* of any bucket */
    N_METRICS,
} Metric;

struct Session {
    const GatewayOptions *options;
    Gateway *gateway; /* borrowed */

    Engine *engine;   /* NULL: waiting for the next attempt */
    Engine *old;      /* ended, and about to be closed; or NULL */
    gint64 closes_us; /* when to close it at the latest */
    gboolean is_ready;
    gboolean was_ready;     /* in this process */
    gboolean is_reattached; /* an earlier process has begun the session, and may have left nodes in
                               it; until they have been found */
    char **left;            /* the paths of the names for which it may have; NULL: not known */
    gboolean is_outdated;   /* its time-out is not the configured one */
    gboolean has_begun;     /* one; a stored session is for the first */
    gboolean is_probing;    /* the session is only to learn the servers' tick */
    gboolean has_probed;    /* since the last session has ended */
    guint n_checked;        /* buckets, in the configuration's order: see check_buckets() */
    guint retry_source;

    Lease lease;
    gboolean has_service;
    guint lease_source;
    guint unreachable_source; /* until the engine has ended a session that is interrupted */
    gboolean has_failed;      /* to begin; the reason was logged */
    gboolean has_warned;      /* that the tokens of a bucket will be used up */
    ClusterState state;
    ClusterReason reason;      /* for the last state that is not ACTIVE */
    double metrics[N_METRICS]; /* by Metric */
};

/* `options` have to stay valid. */
Session *session_new(const GatewayOptions *options, Gateway *gateway);

/* To be called before session_free() at an orderly end: stores the paths of all names for which
 * there may be nodes. They are the keys of `paths`. */
void session_leave(Session *session, GHashTable *paths);

/* The session continues, for the next process, if there are nodes, or may be some of the process
 * before. */
void session_free(Session *session);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Session, session_free)

/* NULL while the session is not ready. */
Engine *session_get_engine(const Session *session);
guint64 session_get_id(const Session *session);

/* The nodes of an earlier process have been found. */
void session_set_found(Session *session);

/* An operation was answered. Returns FALSE, and the session has ended, if its result must not be
 * used: the lease was over, or the operation failed for good. `is_write`: it proves that the
 * session lived when it was sent. */
gboolean session_check_answer(Session *session, const EngineAnswer *answer, gboolean is_write);

/* The engine has issued this block. Returns FALSE, and the session has ended, if this host has seen
 * it or a later one before. */
gboolean session_take_block(Session *session, const char *bucket, guint64 block);

/* The lock service has connected, has disconnected, has acknowledged a lease. */
void session_service_connected(Session *session);
void session_service_disconnected(Session *session);
void session_acknowledge(Session *session, guint64 serial);

/* ---- the beginning: session.c decides when, session-join.c compares the engine's data */

/* Ends the use of the session. It is closed later, when the lock service has notified its clients
 * that their locks are lost, so that no other host gets them before. */
void session_end(Session *session, ClusterReason reason);

/* Attempts to begin a session are repeated indefinitely; the reason why they fail is logged once.
 */
gboolean session_is_first_failure(Session *session);

/* There is a connection. Ends the session, or calls session_become_ready(); if the connection
 * breaks, it is to be called again. */
void session_join(Session *session);
void session_become_ready(Session *session);
