/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Buckets that several hosts share: passes the demand of this host's queues to the gateway,
 * weblocks-clusterd, and its decisions to the core (core/permit.h). common/cluster-packet.h has the
 * messages.
 *
 * A permit is valid until the deadline of the lease. The owner calls cluster_check_lease() before
 * each operation of the core: if the deadline has passed, everything that is held in these buckets
 * ends as lost, before another host can be granted it.
 *
 * When the connection ends, permits stay valid until the deadline. When the next one begins,
 * nothing is granted until the gateway has confirmed each permit; what is held and not confirmed is
 * lost, at the latest at that deadline, or, if the gateway goes on with the session of the permit,
 * at those of its leases. After a restart of this service, the session of a permit is not known:
 * then the stored deadline counts. */

#pragma once

#include <glib.h>

#include "client.h"
#include "cluster-packet.h"

typedef struct {
    /* Called before the core is used: sets its time, and calls cluster_check_lease(). */
    void (*tick)(gpointer data);
    /* The answer to cluster_ask(): ROWS, STATUS or BROKEN. */
    void (*answered)(const ClusterMessage *answer, gpointer data);
    /* There is a connection, whose messages are received by the main loop; it closes `fd`. */
    void (*connected)(int fd, gpointer data);
    /* The connection has ended: what was asked is not answered any more. */
    void (*disconnected)(gpointer data);
} ClusterFunctions;

typedef struct Cluster Cluster;

/* Takes `config`. `socket_path` is the gateway's. */
Cluster *cluster_new(Server *server,
                     ClusterConfig *config,
                     const char *socket_path,
                     const ClusterFunctions *functions,
                     gpointer data);

/* To be called before the server ends. Permits are dropped. */
void cluster_free(Cluster *cluster);

/* Ends restored requests of buckets that are not configured any more as lost. `cluster` is NULL if
 * none is configured. */
void cluster_lose_unconfigured(const Cluster *cluster, UserAgent *user_agent);

/* To be called when the state has been restored, with the stored deadline (0: none). */
void cluster_begin(Cluster *cluster, gint64 deadline_us);

/* Returns the configuration of a bucket `cluster:NAME`, borrowed; NULL: there is none. */
const ClusterBucketConfig *cluster_find_bucket(const Cluster *cluster, const char *bucket);

/* Ends what is held if the deadline of the lease has passed. */
void cluster_check_lease(Cluster *cluster);

/* The machine is about to be suspended: everything that is held ends, and nothing is granted until
 * it is not any more, also to those that wait. */
void cluster_set_asleep(Cluster *cluster, gboolean is_asleep);

/* To be called before each commit: writes the demands that have changed. */
void cluster_write_demands(Cluster *cluster);

/* Returns the deadline that a successor needs to know; 0: there is no lease. */
gint64 cluster_get_deadline_us(const Cluster *cluster);

typedef struct {
    ClusterState state;
    ClusterReason reason;
    gint64 lease_left_us; /* 0: there is no lease */
} ClusterInfo;

/* The connection of this host to the cluster; NULL: none is configured. */
ClusterInfo cluster_get_info(const Cluster *cluster);

/* Asks for a packet of this kind (see ClusterQuestion; `bucket`, `name` and `host` may be NULL if
 * they don't matter); connects, if there is no connection. Returns the serial number of the answer,
 * or 0 if there will be none. */
guint64 cluster_ask(Cluster *cluster,
                    ClusterPacketKind answer,
                    guint32 uid,
                    const char *bucket,
                    const char *name,
                    const char *host);
