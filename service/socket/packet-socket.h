/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lock sockets: SOCK_SEQPACKET sockets by which clients send lock operations as packets
 * (docs/socket-protocol.md).
 *
 * A socket belongs to the client that opened it over the bus, which alone tells who a client is and
 * when it is gone; the end of a socket ends nothing. This room reads packets, decodes them into
 * calls, and encodes replies and events; the server decides when which socket is read and what a
 * call does.
 *
 * Bounds. A packet is received into one buffer that all sockets share; if it is not served to its
 * end, what is left of it is kept with the socket. Replies of a turn are sent at its end. What the
 * kernel does not take waits in `out`, and then the socket is not read until it does: so a client
 * that reads nothing costs one packet, the replies of one turn, and one grant and one end for each
 * live request.
 *
 * All sockets are in one epoll instance, so sockets at rest cost nothing. */

#pragma once

#include <glib.h>

#include "client.h"
#include "packet.h"

typedef struct PacketSockets PacketSockets;

/* Replies, and events while a socket is open. */
extern const Channel socket_channel;

PacketSockets *packet_sockets_new(Session *session);

/* All sockets must be closed. */
void packet_sockets_free(PacketSockets *self);

/* Readable when a socket has something to do. */
int packet_sockets_get_fd(const PacketSockets *self);

/* Whether a socket has messages left that were received in an earlier turn. */
gboolean packet_sockets_has_more(const PacketSockets *self);

/* Also wait for this descriptor to be readable (-1: no more) in packet_sockets_wait(); and whether
 * it was, the last time. */
void packet_sockets_set_other_fd(PacketSockets *self, int fd);
gboolean packet_sockets_is_other_ready(const PacketSockets *self);

/* Up to `max` clients whose sockets have something to read, including those that have some left;
 * waits up to `timeout_ms` for one, or for the other descriptor. Sockets that had to wait to send
 * are sent to, and their clients made runnable. */
guint packet_sockets_wait(PacketSockets *self, Client **clients, guint max, int timeout_ms);

/* Opens a socket for the client, which has none, with the list of what is live already in it.
 * `*out_fd` is the client's end, to be closed by the caller. FALSE: there are no descriptors. */
gboolean packet_socket_open(PacketSockets *self, Client *client, int *out_fd);

/* Closes the client's socket, if it has one, when everything has been sent; events go by the bus
 * from here on. `reason` is sent in CLOSED, unless it is 0. */
void packet_socket_close(Client *client, PacketClosedReason reason);

typedef enum {
    PACKET_READ_CALL,
    PACKET_READ_NOTHING,   /* there is no more now, or the client does not read */
    PACKET_READ_END,       /* of file */
    PACKET_READ_MALFORMED, /* no more can be read */
} PacketRead;

/* Reads the next call. Its strings are valid until the next one is read, of any socket. */
PacketRead packet_socket_read(Client *client, LockCall *out_call);

/* No more is read from the client's socket in this turn: keeps what was received and not read. */
void packet_socket_pause(Client *client);

/* The position in the stream of packets up to which the client has sent something: how many bytes
 * have been received in all, and how many can be. */
guint64 packet_socket_get_end(const Client *client);

/* Whether everything up to that position has been read. */
gboolean packet_socket_is_at(const Client *client, guint64 position);

/* The client is gone: replies and events are dropped from here on. */
void packet_socket_mute(Client *client);
