/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The connection to weblocks-clusterd, the gateway of this host to the cluster.
 *
 * It is established when it is first needed and, as long as it is needed, again after it has ended,
 * with pauses that grow from attempt to attempt. What was appended to its output is sent at the end
 * of the turn. The Cluster owns the Gateway, which owns the connection. */

#pragma once

#include <glib.h>

#include "cluster-connection.h"
#include "turn.h"

typedef struct {
    /* The connection has been established, and HELLO has been written. `fd` is borrowed. */
    void (*connected)(int fd, gpointer data);
    void (*received)(const ClusterMessage *message, gpointer data);
    void (*disconnected)(gpointer data);
    /* Whether the connection is still needed. */
    gboolean (*is_needed)(gpointer data);
    /* Called before the core is used: see ClusterFunctions. */
    void (*tick)(gpointer data);
} GatewayFunctions;

typedef struct {
    char *path;
    const GatewayFunctions *functions;
    gpointer data;
    TurnOutput output;
    ClusterConnection *connection; /* NULL: not connected */
    guint retry_id;
    guint delay_ms; /* before the next attempt */
} Gateway;

void gateway_init(Gateway *gateway,
                  const char *path,
                  Turn *turn,
                  const GatewayFunctions *functions,
                  gpointer data);
void gateway_fini(Gateway *gateway);

/* Connects, unless it is connected or will be soon. Calls `connected` if that succeeds immediately.
 */
void gateway_connect(Gateway *gateway);

/* Disconnects, and calls `disconnected`. If the connection is needed, connects again later. */
void gateway_disconnect(Gateway *gateway);

/* Wakes the main loop when output has been sent, so that more can be appended at the end of that
 * turn. There is a connection. */
void gateway_await_writable(Gateway *gateway);

/* Returns what is sent at the end of the turn, to append to; NULL if it is not connected. */
GByteArray *gateway_get_output(Gateway *gateway);
