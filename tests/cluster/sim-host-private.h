/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parts of a simulated host: sim-service.c is its lock service, sim-gateway.c its gateway, and
 * sim-host.c the connection between both. */

#pragma once

#include "lease.h"
#include "sim-host.h"

/* The lock service's queue of one name. */
typedef struct {
    SimHost *host;
    guint name;
    GPtrArray *pending; /* of requests, owned */
    GPtrArray *held;
    PermitMode permit;
    ClaimName claim; /* the owner of the permit */
    guint64 block;
    guint n_uses; /* the number of grants */
    gint64 permit_us;
    guint64 boundary;
    guint64 next_token, end_token;
    guint64 handle; /* 0: not yet reported to the gateway */
} SimQueue;

/* The gateway's part of one name. */
typedef struct {
    Claim *claim; /* NULL: none */
    guint64 handle;
    ClaimName granted; /* the node of the last grant or steal that was sent */
    guint generation;  /* of operations; results of earlier generations are ignored */
} SimPart;

struct SimHost {
    SimLoop *loop;
    SimEngine *engine;
    const SimHostClass *class;
    gpointer world;
    guint number;

    /* The lock service. */
    guint last_id;
    guint64 last_sequence;
    SimQueue queues[SIM_NAMES];
    gint64 deadline_us;
    guint64 last_handle;
    gboolean is_synced;

    /* Messages between both. */
    guint link; /* incremented for each connection; messages of earlier ones are dropped */
    gint64 last_up_us, last_down_us;
    gboolean is_linked;

    /* The gateway. */
    gboolean has_gateway;
    guint gateway_life;
    gboolean is_partitioned;
    gboolean is_ready; /* the lock service has sent all its demands */
    gboolean has_sent_synced;
    SimConnection *connection;
    guint64 session;
    guint32 last_turn;
    Lease lease;
    SimPart parts[SIM_NAMES];
};

/* ---- sim-host.c */

/* The data that a timer passes to its function. */
typedef struct {
    SimHost *host;
    guint name;
    guint id;
} SimTimer;

void sim_host_timer_in(SimHost *host, guint name, guint id, gint64 delay_us, SimFunc func);

/* The beginning of each message; `func` is called with the message when it arrives, unless the
 * connection on which it was sent has ended. */
typedef struct {
    SimHost *host;
    guint link;
    SimFunc func;
} SimMessage;

/* Take ownership of `message`; messages to the gateway and to the lock service arrive in the order
 * of the calls. */
void sim_host_send_up(SimHost *host, SimFunc func, gpointer message);
void sim_host_send_down(SimHost *host, SimFunc func, gpointer message);

/* The lock service connects to the gateway, and sends its demands. */
void sim_host_connect(SimHost *host);

/* ---- sim-service.c */

void sim_service_init(SimHost *host);
void sim_service_clear(SimHost *host);

/* A connection begins: before the gateway is known to exist, and when it does. */
void sim_service_begin_connection(SimHost *host);
void sim_service_connected(SimHost *host);

/* Messages from the gateway. `claim` is the owner of the permit. */
void sim_service_send_action(SimHost *host,
                             guint name,
                             guint64 handle,
                             const ClaimAction *action,
                             const ClaimName *claim,
                             gint64 deadline_us);
void sim_service_send_lease(SimHost *host, guint64 serial, gint64 deadline_us);
void sim_service_send_synced(SimHost *host);

/* ---- sim-gateway.c */

void sim_gateway_init(SimHost *host);
void sim_gateway_clear(SimHost *host);

/* The lock service has connected. */
void sim_gateway_connected(SimHost *host);

/* Messages from the lock service. */
void sim_gateway_send_demand(SimHost *host, guint name, guint64 handle, const ClaimDemand *demand);
void sim_gateway_send_ready(SimHost *host);
void sim_gateway_send_ack(SimHost *host, guint64 serial);
