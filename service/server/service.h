/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service on one bus: creates and connects the parts of the server, and owns them.
 *
 * The path of a call: intake (bus) or scheduler (lock sockets) -> dispatch -> core -> notifications
 * (effects to the store and to messages) -> end of the turn (commit, send). Everything runs in the
 * default main context. After service_start() nothing blocks except the bounded wait in
 * scheduler.c. */

#pragma once

#include "cluster-config.h"
#include "limit-accounts.h"
#include "ownership.h"
#include "sd-bus.h"

typedef struct Service Service;

typedef struct {
    OwnershipOptions ownership;
    double idle_exit_secs; /* 0: never */
} ServiceOptions;

/* Takes the reference to `bus`, which must be connected or connecting. */
Service *service_new(sd_bus *bus, const Limits *limits, const ServiceOptions *options);
void service_free(Service *service);

/* Serves the buckets of a cluster; takes `config`. To be called before service_start(). */
void service_set_cluster(Service *service, ClusterConfig *config, const char *socket_path);

/* Begins to serve on the bus: see lifecycle.h. May block for a moment. If that fails, the reason is
 * logged, and service_run() returns immediately. */
void service_start(Service *service);

/* Runs until the service has ended. Returns the exit status of the process. */
int service_run(Service *service);

/* Ends the service in the order of lifecycle.h. */
void service_stop(Service *service);
