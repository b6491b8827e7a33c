/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* One end of the connection between weblocksd and its gateway to a cluster: receives packets in the
 * default main context, and sends what was appended to its output, in order and without blocking.
 *
 * A peer that does not read is bounded: if its output becomes longer than OUTPUT_BYTES_MAX, the
 * connection is closed. */

#pragma once

#include <glib.h>

#include "cluster-packet.h"

typedef struct {
    /* cluster_packet_read_from_service() or _from_gateway(). */
    gboolean (*read_packet)(ClusterMessage *out, const void *packet, gsize size);
    /* `message` is valid until the function returns. */
    void (*received)(const ClusterMessage *message, gpointer data);
    /* EOF, an error, or a malformed packet: nothing is received or sent any more. Called at most
     * once, and not by cluster_connection_free(). `reason` is for the log. */
    void (*closed)(const char *reason, gpointer data);
} ClusterConnectionHandler;

typedef struct ClusterConnection ClusterConnection;

/* Returns a socket that is connected to the one at `path`, or -1. A local socket is connected
 * immediately, or not at all. */
int cluster_connection_open(const char *path);

/* Takes `fd`, a connected socket, and makes it non-blocking. `handler` must stay valid. */
ClusterConnection *
cluster_connection_new(int fd, const ClusterConnectionHandler *handler, gpointer data);

/* May be called by the functions of the handler. What has not been sent is dropped. */
void cluster_connection_free(ClusterConnection *connection);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ClusterConnection, cluster_connection_free)

/* Returns the output, to which whole packets are appended; borrowed. */
GByteArray *cluster_connection_get_output(ClusterConnection *connection);

/* Sends the output; the rest, when the peer accepts it. The connection is closed if there is more
 * of it than a peer that receives would leave. */
void cluster_connection_flush(ClusterConnection *connection);

/* Wakes the main loop when the peer accepts more: for an owner that has so much to send that it
 * appends one part after the other. */
void cluster_connection_await_writable(ClusterConnection *connection);
