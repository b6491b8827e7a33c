/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection of this host to a cluster, as the property Cluster shows it. It is a plain struct,
 * so that dbus/ can encode it without the headers of cluster/. */

#pragma once

#include "cluster-config.h"
#include "cluster-packet.h"

/* Everything is borrowed. */
typedef struct {
    ClusterState state;
    ClusterReason reason;
    gint64 lease_left_us;        /* 0: there is no lease */
    const char *engine;          /* the server in use; "": none */
    const char *hosts;           /* one a line */
    const char *id;              /* of the data; "" if it is not known */
    const ClusterConfig *config; /* NULL: this host has none */
} ClusterInfo;
