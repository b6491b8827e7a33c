/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The client's end of a lock socket (docs/socket-protocol.md): the queue of outgoing messages, and
 * dispatch of received messages.
 *
 * It never blocks. Messages that the kernel does not accept stay in the queue and are sent when the
 * socket is writable, as many as fit into each packet. It owns the descriptor. All functions are
 * called with the session lock held. */

#pragma once

#include "client-lib/engine/session.h"
#include "common/packet.h"

typedef struct PacketSocket PacketSocket;

typedef struct {
    /* A message was received. This function may close the socket. */
    void (*message)(const PacketHead *message, gpointer data);
    /* The service has closed the socket, and all its messages have been read; or it sent a
     * malformed packet. `was_read`: the service had read everything that was sent to it. */
    void (*ended)(gboolean was_read, gpointer data);
} PacketSocketFuncs;

/* Creates a closed socket. */
PacketSocket *packet_socket_new(Session *session, const PacketSocketFuncs *funcs, gpointer data);
void packet_socket_free(PacketSocket *self);

/* Takes the descriptor. Returns FALSE and closes it if it is not a SEQPACKET socket. */
gboolean packet_socket_open(PacketSocket *self, int fd, guint32 packet_max);
void packet_socket_close(PacketSocket *self);

/* Makes both ends find that the socket was closed, after what was sent before. */
void packet_socket_shut_down(PacketSocket *self);

/* Messages are appended to the queue by packet_write_*() and then sent, as far as the kernel
 * accepts them. */
GByteArray *packet_socket_get_queue(PacketSocket *self);
void packet_socket_send(PacketSocket *self);

/* Whether the queue is empty; and how many bytes have been appended and sent since the socket was
 * opened. */
gboolean packet_socket_is_drained(const PacketSocket *self);
guint64 packet_socket_count_appended(const PacketSocket *self);
guint64 packet_socket_count_sent(const PacketSocket *self);

/* Reads and dispatches all messages that are available now, including EOF; those that are sent
 * meanwhile may be left. */
void packet_socket_read(PacketSocket *self);
