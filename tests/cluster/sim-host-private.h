/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parts of a simulated host: sim-service.c is its lock service, sim-gateway.c its gateway, and
 * sim-host.c the connection between both. */

#pragma once

#include "cluster-connection.h"
#include "lease.h"
#include "sim-host.h"

typedef struct SimService SimService;

/* What a client of the lock service has requested. */
typedef struct {
    guint client;
    gint64 asked_us;
    gint64 hold_us;
} SimAsked;

/* The gateway's part of one name. */
typedef struct {
    Claim *claim; /* NULL: none */
    guint64 handle;
    guint32 number;   /* of the last demand */
    guint generation; /* of operations; results of earlier generations are ignored */
} SimPart;

struct SimHost {
    SimLoop *loop;
    SimEngine *engine;
    const SimHostClass *class;
    gpointer world;
    guint number;

    SimService *service;
    GArray *asked; /* of SimAsked: for the ids of requests from 1 on */

    /* The connection between both. */
    ClusterConnection *link; /* the lock service's end, or NULL */
    guint last_link;         /* connections are counted */
    guint gateway_link;      /* the one that the gateway has; 0: none */
    gint64 last_up_us, last_down_us;

    /* The gateway. */
    gboolean has_gateway;
    guint gateway_life;
    gboolean is_partitioned;
    gboolean is_ready; /* the lock service has sent all its demands */
    gboolean has_sent_synced;
    GByteArray *output; /* packets for the lock service */
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

/* Sends packets to the gateway (`is_up`) or to the lock service, and empties the array. They arrive
 * in order, unless the receiver's end of the connection is closed before. */
void sim_host_send(SimHost *host, gboolean is_up, GByteArray *packets);

/* Closes the gateway's end of the connection. */
void sim_host_close_gateway_link(SimHost *host);

/* ---- sim-service.c */

SimService *sim_service_new(SimHost *host);
void sim_service_free(SimService *service);

/* As the main loop does it after each iteration. */
void sim_service_end_turn(SimService *service);

/* ---- sim-gateway.c */

void sim_gateway_init(SimHost *host);
void sim_gateway_clear(SimHost *host);

/* A packet of the lock service; the end of the connection. */
void sim_gateway_receive(SimHost *host, const ClusterMessage *message);
void sim_gateway_closed(SimHost *host);
