/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The client's end of a lock socket (docs/socket-protocol.md): messages that wait to be sent, and
 * messages that arrive.
 *
 * It never blocks. What the kernel does not take is kept, and sent when the socket is writable, as
 * many messages in a packet as fit. All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/session.h"
#include "common/packet.h"

typedef struct PacketSocket PacketSocket;

typedef struct {
    /* A message has arrived. The socket may be closed by that. */
    void (*message)(const PacketHead *message, gpointer data);
    /* Everything in the queue has been sent, after it had to wait. */
    void (*drained)(gpointer data);
    /* The service has closed the socket, and everything that it sent was read; or it sent something
     * malformed. `was_read`: so was everything that was sent to it. */
    void (*ended)(gboolean was_read, gpointer data);
} PacketSocketFuncs;

/* It is closed at first. */
PacketSocket *packet_socket_new(Session *session, const PacketSocketFuncs *funcs, gpointer data);
void packet_socket_free(PacketSocket *self);

/* Takes the descriptor. FALSE, and nothing is open: it is not of the right type. */
gboolean packet_socket_open(PacketSocket *self, int fd, guint32 packet_max);
void packet_socket_close(PacketSocket *self);

/* Messages are appended here (packet_write_*()), then sent: now, or, where deliveries are running,
 * together with those that are appended by the next ones. */
GByteArray *packet_socket_get_queue(PacketSocket *self);
void packet_socket_send(PacketSocket *self);
void packet_socket_send_soon(PacketSocket *self);

/* Whether the kernel has everything; and how many bytes were appended, and are with the kernel,
 * since the socket was opened. */
gboolean packet_socket_is_drained(const PacketSocket *self);
guint64 packet_socket_count_appended(const PacketSocket *self);
guint64 packet_socket_count_sent(const PacketSocket *self);

/* Reads what is there. */
void packet_socket_read(PacketSocket *self);

/* Whether the service has closed its end; there may be something to read before that. */
gboolean packet_socket_has_ended(const PacketSocket *self);
