/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The process of a host's gateway: all of cluster/ except main.c. Its system is simulated: the
 * files of its state directory are in memory, its socket is that of sim-host.c, ZooKeeper is
 * sim-zookeeper.c, and time is that of sim-loop.c.
 *
 * This header has no types of the product's gateway: the lock service has others of the same names.
 */

#pragma once

#include <glib.h>

typedef struct SimGateway SimGateway;

/* `socket_path` is that of cluster_connection_open(). */
SimGateway *
sim_gateway_new(guint host, guint timeout_secs, guint turn_secs, const char *socket_path);
void sim_gateway_free(SimGateway *gateway);

/* Starts a process. */
void sim_gateway_start(SimGateway *gateway);
gboolean sim_gateway_is_running(const SimGateway *gateway);

/* Ends it by SIGTERM, or by SIGKILL. */
void sim_gateway_end(SimGateway *gateway, gboolean is_killed);

/* Whether what is closed now is of a process that ends by SIGKILL: its sessions continue. */
gboolean sim_gateway_is_being_killed(void);

/* The lock service has connected to its socket; `fd` is the gateway's end of the connection. */
void sim_gateway_accept(SimGateway *gateway, int fd);
