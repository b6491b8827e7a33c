/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lock sockets: SOCK_SEQPACKET sockets on which clients send lock operations as packets
 * (docs/socket-protocol.md).
 *
 * A socket belongs to the client that opened it by a call on the bus. The client's identity and
 * lifetime are those of its bus connection: closing a socket doesn't end the agent. This layer
 * reads packets, decodes them into calls, and encodes replies and events. The server decides which
 * socket is read when, and what a call does.
 *
 * Bounds: a packet is received into a buffer that all sockets share; if the turn ends before all of
 * its messages are served, the rest is stored with the socket, and the sockets with a rest are
 * served in turn. Replies are sent at the end of the turn. Output that the kernel does not accept
 * waits in `out`, and meanwhile the socket is not read. So a client that reads nothing needs memory
 * for one packet, the replies of one turn, and one grant and one end for each live request. The
 * kernel tells whether a client has read everything; before that it is sent no further WANTED.
 *
 * All sockets are in one epoll instance, so idle sockets cost no time. A PacketSocket is owned by
 * its client and freed by packet_socket_close(). */

#pragma once

#include <glib.h>

#include "cell.h"
#include "client.h"
#include "packet.h"

struct PacketSockets {
    Server *server; /* borrowed */
    int epoll_fd;   /* readable when a socket has an event */
    int read_fd;    /* of epoll: readable when a client may have read everything */
    guint read_id;
    gboolean is_other_ready; /* another descriptor was, at the last wait */
    GQueue to_visit;        /* of PacketSocket, by PacketSocket.in_to_visit; served from the head */
    PacketSocket *receiver; /* the socket whose packet is in `buffer`, or NULL */
    GString *texts;         /* those of the last REQUEST that was read */
    guint64 buffer[PACKET_BYTES_MAX / sizeof(guint64)];
};

/* The channel of clients with an open socket. */
extern const Channel socket_channel;

PacketSockets *packet_sockets_new(Server *server);

/* All sockets must be closed. */
void packet_sockets_free(PacketSockets *self);

/* Makes packet_sockets_wait() also wait for another descriptor to become readable, until it is
 * removed or closed: see `is_other_ready`. Returns FALSE if the kernel has no room for that:
 * programs of the same user may use up what it has (fs.epoll.max_user_watches), sandboxed ones too.
 */
gboolean packet_sockets_add_other_fd(PacketSockets *self, int fd);
void packet_sockets_remove_other_fd(PacketSockets *self, int fd);

/* Gets up to `max` clients whose sockets are readable or have unserved messages. Waits up to
 * `timeout_ms` for one, or for another descriptor. Also sends waiting output to sockets that have
 * become writable, and makes their clients runnable. */
guint packet_sockets_wait(PacketSockets *self, Client **clients, guint max, int timeout_ms);

/* Opens a socket for a client without one, and queues LIVE on it. `*out_fd` is the client's end,
 * owned by the caller. Returns FALSE if there are no descriptors left. */
gboolean packet_socket_open(PacketSockets *self, Client *client, int *out_fd);

/* Requests on the client's socket can have these cells, as many as a page has; NULL: none. They
 * must not be used any more when they are replaced, or the socket is closed. */
void packet_socket_set_cells(Client *client, Cell *cells);

/* Closes the client's socket, if it has one, after its output has been sent. Events are sent on the
 * bus from now on. Unless `reason` is 0, it is sent in CLOSED. */
void packet_socket_close(Client *client, PacketClosedReason reason);

typedef enum {
    PACKET_READ_CALL,      /* a message, which is a call */
    PACKET_READ_NOTHING,   /* no message is available, or the client does not read */
    PACKET_READ_END,       /* EOF */
    PACKET_READ_MALFORMED, /* the socket must not be read any more */
} PacketRead;

/* Reads one message, and counts it as a call of the turn. The strings of the call are valid until
 * the next message is read from any socket. */
PacketRead packet_socket_read(Client *client, LockCall *out_call);

/* Gets the manager of a bucket for a call on the client's socket. Returns a new reference. The
 * socket keeps another one to the bucket that it used last, so that the next request there needs no
 * lookup, and a bucket that becomes empty is not freed and created again for each request. */
LockManager *packet_socket_get_manager(Client *client, const Target *target);

/* Stops reading the client's socket in this turn: stores the unserved rest of the received packet,
 * which is served after those of all other sockets. */
void packet_socket_pause(Client *client);

/* The turn is over before this socket was read: it is among the first of a later one. */
void packet_socket_serve_later(Client *client);

/* Returns the position up to which the client has sent packets: the number of bytes received so far
 * plus those in the kernel's buffer. */
guint64 packet_socket_get_end(const Client *client);

/* What is sent from now on is not read. */
void packet_socket_end_here(Client *client);

/* Whether everything up to this position has been read, or up to where the socket has ended. */
gboolean packet_socket_is_at(const Client *client, guint64 position);

/* Drops replies and events from now on: the client has disconnected. */
void packet_socket_mute(Client *client);
