/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The parts of a simulated host: sim-service.c is its lock service, sim-gateway.c its gateway, and
 * sim-link.c the connections between both. */

#pragma once

#include "sim-gateway.h"
#include "sim-host.h"
#include "sim-link.h"

typedef struct SimService SimService;

/* What a client of the lock service has requested. */
typedef struct {
    guint client;
    gint64 asked_us;
    gint64 hold_us;
} SimAsked;

struct SimHost {
    SimLoop *loop;
    SimServers *servers;
    const SimClaims *claims;
    const SimHostClass *class;
    gpointer world;
    guint number;
    char *socket_path;

    SimService *service;
    GArray *asked; /* of SimAsked: for the ids of requests from 1 on */
    SimGateway *gateway;
    SimLinks *links; /* between both */
};

/* ---- sim-host.c */

/* The data that a timer passes to its function. */
typedef struct {
    SimHost *host;
    guint name;
    guint id;
} SimTimer;

void sim_host_timer_in(SimHost *host, guint name, guint id, gint64 delay_us, SimFunc func);

/* ---- sim-service.c */

SimService *sim_service_new(SimHost *host);
void sim_service_free(SimService *service);

/* As the main loop does it after each iteration. */
void sim_service_end_turn(SimService *service);
