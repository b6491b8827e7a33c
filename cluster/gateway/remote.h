/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The claims of other hosts on a name: lists them, and ends those that hold it.
 *
 * Each function calls back exactly once, unless the process ends before; if the engine can't be
 * reached, with nothing. */

#pragma once

#include "cluster-packet.h"
#include "session.h"

/* `serial` is that of the message, `rows` are of ClusterRow, at most CLUSTER_ROWS_MAX. */
typedef void (*RemoteRows)(guint64 serial, const GArray *rows, gpointer data);
void remote_list(Session *session,
                 const char *root,
                 const ClusterList *message,
                 RemoteRows callback,
                 gpointer data);

typedef void (*RemoteBroken)(guint64 serial, guint count, gboolean failed, gpointer data);
void remote_break(Session *session,
                  const char *root,
                  const ClusterBreak *message,
                  RemoteBroken callback,
                  gpointer data);

/* `hosts` are the names of all hosts that are connected, one a line. */
typedef void (*RemoteHosts)(guint64 serial, const char *hosts, gpointer data);
void remote_list_hosts(Session *session, guint64 serial, RemoteHosts callback, gpointer data);
