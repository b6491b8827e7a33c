/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection of this host to a cluster, as the property Cluster shows it. It is a plain struct,
 * so that dbus/ can encode it without the headers of cluster/. */

#pragma once

#include "cluster-config.h"
#include "cluster-packet.h"

#define CLUSTER_STATUS_NONE ((ClusterStatus){.engine = "", .hosts = "", .id = "", .metrics = ""})

/* Everything is borrowed. */
typedef struct {
    ClusterState state;
    ClusterReason reason;
    gint64 lease_left_us;        /* 0: there is no lease */
    ClusterStatus status;        /* CLUSTER_STATUS_NONE: no answer */
    const ClusterConfig *config; /* NULL: this host has none */
} ClusterInfo;
