/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The gateway's end of the connection to weblocksd: listens on a socket, and passes the packets of
 * the service to the functions of a table. common/cluster-packet.h has their meaning.
 *
 * There is one service at a time, which must have the uid that the socket was created for (or uid
 * 0). When another process of that uid connects, it replaces the earlier one: that is a service
 * that has been restarted. A peer of another uid is disconnected immediately, and so is a service
 * that sends a malformed packet, or one out of order. */

#pragma once

#include <glib.h>
#include <sys/types.h>

#include "cluster-connection.h"
#include "cluster-packet.h"

/* The functions may send, and may call service_socket_disconnect(). Messages are valid until they
 * return. */
typedef struct {
    void (*hello)(gpointer data);
    /* DEMAND, READY, ACK or ASK. */
    void (*received)(const ClusterMessage *message, gpointer data);
    /* The service that sent `hello` has disconnected. Not called by service_socket_free(). */
    void (*closed)(gpointer data);
} ServiceSocketFunctions;

typedef struct ServiceSocket ServiceSocket;

/* Listens on a socket that systemd has passed or, if `path` is not NULL, on a new socket with mode
 * 0600 at that path, which replaces an existing one. `functions` must stay valid. */
ServiceSocket *service_socket_new(const char *path,
                                  uid_t uid,
                                  const ServiceSocketFunctions *functions,
                                  gpointer data,
                                  GError **error);
void service_socket_free(ServiceSocket *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ServiceSocket, service_socket_free)

/* Disconnects the service, if there is one; `closed` is called. */
void service_socket_disconnect(ServiceSocket *self);

/* Sends a packet, in the order of the calls; without a service, nothing. The further arguments are
 * those of cluster_packet_write(). */
void service_socket_send(ServiceSocket *self, ClusterPacketKind kind, ...);
