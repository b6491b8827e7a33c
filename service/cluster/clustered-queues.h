/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the gateway knows of the queues of this host in buckets of a cluster: the last demand that
 * it was sent, and the permit that it has given.
 *
 * A ClusteredQueue exists from the first request in its queue until the queue needs nothing, has no
 * permit, and the gateway has no claim for it. It owns a reference to its queue. The gateway is
 * sent only what it has to act on: while a permit covers what is requested, requests and releases
 * cost no packet. A queue that is empty keeps its permit for LINGER_MS, since the next request is
 * often soon. */

#pragma once

#include <glib.h>

#include "cluster-packet.h"
#include "lock-queue.h"
#include "permit.h"

typedef struct {
    guint64 handle;
    LockQueue *queue;
    Principal *charged; /* of the first request that it was made for; owned reference */
    /* Of its permit; `block` is 0 if there is none. If it is not confirmed, it is from an earlier
     * connection. */
    guint64 block;
    guint64 session;
    guint32 claim;
    gboolean is_confirmed; /* a permit has come by this connection */
    gboolean must_send;    /* even if it is the same as the last one */
    guint32 number;        /* of the last ClusterDemand sent by this connection; 0: none */
    Demand sent;           /* what was sent in it */
    gint64 empty_since_us; /* monotonic; only valid while it is in `lingering` */
    GList in_lingering;    /* `data` is NULL if it is not */
} ClusteredQueue;

typedef struct {
    GHashTable *by_handle; /* its handle -> ClusteredQueue, owned */
    GQueue lingering;      /* of ClusteredQueue: may have a permit and an empty queue */
    gboolean is_asleep;    /* the machine is about to be suspended: nothing is wanted meanwhile */
    guint64 last_handle;
    guint linger_id;
    void (*on_linger)(gpointer data); /* clustered_queues_end_lingering() is to be called */
    gpointer data;
} ClusteredQueues;

void clustered_queues_init(ClusteredQueues *self, void (*on_linger)(gpointer data), gpointer data);
void clustered_queues_fini(ClusteredQueues *self);

/* Creates it if there is none. */
ClusteredQueue *clustered_queues_get(ClusteredQueues *self, LockQueue *queue);

/* Calls `visit` for each; it may change the queues, and free the one that it is called for. */
void clustered_queues_foreach(ClusteredQueues *self,
                              void (*visit)(ClusteredQueue *clustered, gpointer data),
                              gpointer data);

/* To be called at the end of a turn for each queue whose demand may have changed: gives up a
 * permit whose turn is over, or that has been removed from the queue, and appends a DEMAND to `out`
 * if the gateway has to know. `out` is NULL if there is no connection. May free `clustered`. */
void clustered_queues_update(ClusteredQueues *self, ClusteredQueue *clustered, GByteArray *out);

/* A permit of this session has been received. */
void clustered_queue_confirm(ClusteredQueue *clustered, const ClusterTurn *permit, guint64 session);

/* A GONE with this number has been received. May free it. */
void
clustered_queues_receive_gone(ClusteredQueues *self, ClusteredQueue *clustered, guint32 number);

/* A connection begins: nothing was sent by it, and every permit needs a confirmation, for which its
 * claim is named. Until then held locks stay, and nothing is granted. */
void clustered_queues_reset(ClusteredQueues *self);

/* The machine is about to be suspended, or is not any more: all demands change. */
void clustered_queues_set_asleep(ClusteredQueues *self, gboolean is_asleep);

/* Gives up the permits of queues that have been empty for long enough. Their demands change. */
void clustered_queues_end_lingering(ClusteredQueues *self);
