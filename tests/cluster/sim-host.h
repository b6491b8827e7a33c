/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A simulated host: the lock service's core and its part for clusters, and a gateway with the real
 * claims and the real lease. Both processes and the clients can be killed; packets between them
 * take time.
 *
 * The host calls functions of the world with what its clients observe; the world checks it. */

#pragma once

#include "sim-engine.h"

#define SIM_HOSTS_MAX 4
#define SIM_CLIENTS   3

typedef struct SimHost SimHost;

/* A lock as its client observes it. */
typedef struct {
    guint host;
    guint name;
    guint id;
    PermitMode mode;
    guint64 token;
    gint64 asked_us;
    gint64 permit_us; /* the beginning of the turn */
    ClaimName claim;  /* the owner of the permit */
} SimLock;

typedef struct {
    void (*granted)(gpointer world, const SimLock *lock);
    void (*ended)(gpointer world, const SimLock *lock, gboolean is_lost);
} SimHostClass;

SimHost *sim_host_new(
    SimLoop *loop, SimEngine *engine, guint number, const SimHostClass *class, gpointer world);
void sim_host_free(SimHost *host);

/* A client requests a lock, and releases it after `hold_us`. */
typedef struct {
    guint client;
    guint name;
    PermitMode mode;
    gboolean if_available;
    gboolean steal;
    guint32 timeout_ms; /* 0: none */
    gint64 hold_us;
} SimRequest;
void sim_host_request(SimHost *host, const SimRequest *request);

/* Aborts a random request that waits, if there is any. */
void sim_host_abort_any(SimHost *host, guint name);

/* Ends all locks and requests of a client; another one takes its place. */
void sim_host_kill_client(SimHost *host, guint client);

/* Faults. */
void sim_host_break_connection(SimHost *host);
void sim_host_set_partitioned(SimHost *host, gboolean is_partitioned);
void sim_host_kill_gateway(SimHost *host);
void sim_host_kill_service(SimHost *host);

/* The number of requests and locks, and of the gateway's claims. */
guint sim_host_get_n_requests(const SimHost *host);
guint sim_host_get_n_claims(const SimHost *host);
