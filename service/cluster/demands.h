/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The demands of this host: what each clustered queue needs of the cluster, and which of it
 * has been sent to the gateway.
 *
 * A Demand exists from the first request in its queue until the queue needs nothing, has no permit,
 * and the gateway has no claim for it. Demands own references to their queues. The gateway is sent
 * only what it has to act on: while a permit covers what is requested, requests and releases cost
 * no packet. A queue that is empty keeps its permit for LINGER_MS, since the next request is often
 * soon. */

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
    LockDemand sent;       /* what was sent in it */
    gint64 empty_since_us; /* monotonic; only valid while it is in `lingering` */
    GList in_lingering;    /* `data` is NULL if it is not */
} Demand;

typedef struct {
    GHashTable *by_queue;  /* LockQueue -> Demand, owned */
    GHashTable *by_handle; /* Demand.handle -> Demand */
    GQueue lingering;      /* of Demand: may have a permit and an empty queue */
    guint64 last_handle;
    guint linger_id;
    void (*on_linger)(gpointer data); /* demands_end_lingering() is to be called */
    gpointer data;
} Demands;

void demands_init(Demands *demands, void (*on_linger)(gpointer data), gpointer data);
void demands_fini(Demands *demands);

/* Returns the number of demands. */
guint demands_get_size(const Demands *demands);

/* Returns the demand of a handle, or NULL. */
Demand *demands_find(const Demands *demands, guint64 handle);

/* Returns the demand of a queue; creates it if there is none. */
Demand *demands_get(Demands *demands, LockQueue *queue);

/* Calls `visit` for each demand; it may change the queues, and remove the demand that it is called
 * for. */
void demands_foreach(Demands *demands, void (*visit)(Demand *demand, gpointer data), gpointer data);

/* To be called at the end of a turn for each queue whose demand may have changed: gives up a
 * permit whose turn is over, or that has been removed from the queue, and appends a DEMAND to `out`
 * if the gateway has to know. `out` is NULL if there is no connection. May free the demand. */
void demands_update(Demands *demands, Demand *demand, GByteArray *out);

/* A permit of this session has been received. */
void demand_confirm(Demand *demand, const ClusterTurn *permit, guint64 session);

/* A permit has been revoked by the gateway, and removed from the queue. */
void demand_note_revoked(Demand *demand);

/* A permit of an earlier connection is not confirmed any more. */
void demand_note_unconfirmed(Demand *demand);

/* A GONE with this number has been received. May free the demand. */
void demands_receive_gone(Demands *demands, Demand *demand, guint32 number);

/* A connection begins: nothing was sent by it, and every permit needs a confirmation, for which its
 * claim is named. Until then held locks stay, and nothing is granted. */
void demands_reset(Demands *demands);

/* Gives up the permits of queues that have been empty for long enough. Their demands change. */
void demands_end_lingering(Demands *demands);
