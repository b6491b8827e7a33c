/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A simulated host: the lock service's core and its part for clusters, and the gateway. Both
 * processes and the clients can be killed; packets between them take time.
 *
 * The host calls functions of the world with what its clients observe; the world checks it. */

#pragma once

#include "sim-claims.h"
#include "sim-servers.h"

#define SIM_CLIENTS   3
#define SIM_TURN_SECS 3

/* How many there can be of this kind; a gateway alone takes less time. */
#define SIM_WHOLE_HOSTS_MAX 4

typedef struct SimHost SimHost;

/* A lock as its client observes it. */
typedef struct {
    guint host;
    guint name;
    guint id;
    PermitMode mode;
    guint64 token;
    gint64 asked_us;
    gint64 hold_us;
    gint64 permit_us; /* the beginning of the turn */
    ClaimName claim;  /* the owner of the permit */
} SimLock;

typedef struct {
    void (*granted)(gpointer world, const SimLock *lock);
    void (*ended)(gpointer world, const SimLock *lock, gboolean is_lost);
    /* The gateway tells the lock service until when its lease lasts. */
    void (*leased)(gpointer world, guint host, gint64 deadline_us);
} SimHostClass;

/* `timeout_secs` is that of its sessions. */
SimHost *sim_host_new(SimLoop *loop,
                      SimServers *servers,
                      const SimClaims *claims,
                      guint number,
                      guint timeout_secs,
                      const SimHostClass *class,
                      gpointer world);
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
} SimLockRequest;
void sim_host_request(SimHost *host, const SimLockRequest *request);

/* Aborts a random request that waits, if there is any. */
void sim_host_abort_any(SimHost *host, guint name);

/* Asks the gateway for the claims of other hosts and its status, or to end those of a host (NULL:
 * of all). */
void sim_host_list(SimHost *host, guint name);
void sim_host_break(SimHost *host, guint name, const char *other);

/* Ends all locks and requests of a client; another one takes its place. */
void sim_host_kill_client(SimHost *host, guint client);

/* Faults. */
void sim_host_end_gateway(SimHost *host, gboolean is_killed);
void sim_host_kill_service(SimHost *host);

/* The number of requests and locks, and of calls of the gateway without a reply. */
guint sim_host_get_n_requests(const SimHost *host);
