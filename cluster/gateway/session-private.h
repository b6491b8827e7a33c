/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the files of a session share: its beginning and end and the lease (session.c), and the
 * engine's data (session-join.c). */

#pragma once

#include "lease.h"
#include "session.h"

struct Session {
    const ClusterConfig *config;
    const char *credential; /* NULL: none */
    const char *host;
    const char *directory;
    Seen *seen;
    const SessionFunctions *functions;
    gpointer data;

    Engine *engine;   /* NULL: waiting for the next attempt */
    Engine *old;      /* ended, and about to be closed; or NULL */
    gint64 closes_us; /* when to close it at the latest */
    gboolean is_ready;
    gboolean was_ready;     /* in this process */
    gboolean is_reattached; /* see session_is_reattached() */
    char **left;            /* see session_get_left(); NULL: not known */
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
    ClusterReason reason; /* for the last state that is not ACTIVE */
    double metrics[N_METRICS];
};

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
