/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/engine/packet-socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client-lib/engine/process.h"

/* If the queue was longer than this, its memory is freed when it is empty. */
#define QUEUE_KEPT_BYTES ((gsize)2 * PACKET_BYTES_MAX)

struct PacketSocket {
    Session *session;
    const PacketSocketFuncs *funcs;
    gpointer data;

    gboolean is_open;
    SessionDescriptor descriptor;
    guint n_opened; /* how many times a socket was opened */
    gsize packet_max;
    gboolean was_reset; /* the service closed the socket without reading all of it (ECONNRESET) */
    gboolean is_broken; /* sending has failed; there may still be unread messages */

    GByteArray *queue;
    gsize n_sent;          /* bytes at the beginning of the queue */
    guint64 n_sent_before; /* sent bytes that are not in the queue any more */
    gsize longest;
    guint8 *packet; /* the packet that is being read */
};

/* ---- life */

static void
set_events(PacketSocket *self, gboolean is_full)
{
    session_set_descriptor_events(self->session, &self->descriptor,
                                  is_full ? (short)(POLLIN | POLLOUT) : (short)POLLIN);
}

static void
clear_queue(PacketSocket *self)
{
    self->longest = MAX(self->longest, self->queue->len);
    if (self->longest > QUEUE_KEPT_BYTES) {
        g_byte_array_unref(self->queue);
        self->queue = g_byte_array_new();
        self->longest = 0;
    }
    g_byte_array_set_size(self->queue, 0);
    self->n_sent_before += self->n_sent;
    self->n_sent = 0;
}

gboolean
packet_socket_is_drained(const PacketSocket *self)
{
    return self->queue->len == 0;
}

guint64
packet_socket_count_appended(const PacketSocket *self)
{
    return self->n_sent_before + self->queue->len;
}

guint64
packet_socket_count_sent(const PacketSocket *self)
{
    return self->n_sent_before + self->n_sent;
}

GByteArray *
packet_socket_get_queue(PacketSocket *self)
{
    return self->queue;
}

static gboolean
is_seqpacket(int fd)
{
    int type = 0;
    socklen_t size = sizeof type;

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

gboolean
packet_socket_open(PacketSocket *self, int fd, guint32 packet_max)
{
    g_assert(!self->is_open);
    if (!is_seqpacket(fd)) {
        close(fd);
        return FALSE;
    }
    if (self->packet == NULL)
        self->packet = g_malloc(PACKET_BYTES_MAX);
    process_guard_fd(fd);
    self->descriptor.fd = fd;
    self->descriptor.events = POLLIN;
    self->packet_max = MIN(packet_max, PACKET_BYTES_MAX);
    self->was_reset = FALSE;
    self->is_broken = FALSE;
    self->n_sent_before = 0;
    self->is_open = TRUE;
    self->n_opened++;
    session_add_descriptor(self->session, &self->descriptor);
    return TRUE;
}

void
packet_socket_close(PacketSocket *self)
{
    if (!self->is_open)
        return;
    self->is_open = FALSE;
    session_remove_descriptor(self->session, &self->descriptor);
    process_unguard_fd(self->descriptor.fd);
    close(self->descriptor.fd);
    clear_queue(self);
}

void
packet_socket_shut_down(PacketSocket *self)
{
    if (self->is_open)
        shutdown(self->descriptor.fd, SHUT_RDWR);
}

/* ---- sending */

/* Returns FALSE if the socket is not writable or sending has failed. */
static gboolean
send_packet(PacketSocket *self, gsize *packet_max)
{
    const gsize length = packet_get_length(self->queue, self->n_sent, *packet_max);
    ssize_t n = send(self->descriptor.fd, self->queue->data + self->n_sent, length,
                     MSG_DONTWAIT | MSG_NOSIGNAL);

    if (n >= 0) {
        self->n_sent += length;
        return TRUE;
    }
    switch (errno) {
    case EINTR:
        return TRUE;
    case EAGAIN:
        return FALSE;
    case EMSGSIZE: /* the packet exceeds the socket's send buffer (net.core.wmem_max) */
    case ENOBUFS:
        if (*packet_max > sizeof(PacketHead)) {
            *packet_max /= 2;
            return TRUE;
        }
        break;
    default:
        break;
    }
    self->is_broken = TRUE;
    return FALSE;
}

void
packet_socket_send(PacketSocket *self)
{
    gsize packet_max = self->packet_max;

    if (!self->is_open || self->is_broken)
        return;
    while (self->n_sent < self->queue->len && send_packet(self, &packet_max))
        ;
    if (self->n_sent == self->queue->len) {
        clear_queue(self);
    } else if (self->n_sent > self->queue->len / 2) {
        g_byte_array_remove_range(self->queue, 0, (guint)self->n_sent);
        self->n_sent_before += self->n_sent;
        self->n_sent = 0;
    }
    /* A broken socket is still read until EOF. */
    set_events(self, self->queue->len > 0 && !self->is_broken);
}

/* ---- reading */

static void
end(PacketSocket *self)
{
    const gboolean was_read = !self->was_reset && !self->is_broken && self->queue->len == 0;

    packet_socket_close(self);
    self->funcs->ended(was_read, self->data);
}

static void
take_packet(PacketSocket *self, gsize size)
{
    const guint n_opened = self->n_opened;
    gsize offset = 0;

    while (offset < size && self->is_open && self->n_opened == n_opened) {
        const PacketHead *message = packet_read_from_service(self->packet, size, &offset);

        if (message == NULL) {
            g_debug("the lock service sent a malformed packet");
            self->was_reset = TRUE; /* it is unknown what the service has read */
            end(self);
            return;
        }
        self->funcs->message(message, self->data);
    }
}

/* Returns FALSE if no packet is available, or after EOF. `out_size` is 0 if there may be one, but
 * it was not read. */
static gboolean
read_packet(PacketSocket *self, gsize *out_size)
{
    ssize_t n = recv(self->descriptor.fd, self->packet, PACKET_BYTES_MAX, MSG_DONTWAIT);

    *out_size = (gsize)MAX(n, 0);
    if (n > 0) {
        take_packet(self, (gsize)n);
        return self->is_open;
    }
    if (n < 0) {
        switch (errno) {
        case EAGAIN:
            return FALSE;
        case EINTR:
            return TRUE;
        case ECONNRESET: /* reported once; packets sent before can still be read */
            if (!self->was_reset) {
                self->was_reset = TRUE;
                return TRUE;
            }
            break;
        default:
            self->was_reset = TRUE;
            break;
        }
    }
    end(self);
    return FALSE;
}

static gsize
count_available(const PacketSocket *self)
{
    int n_bytes = 0;

    if (!self->is_open || ioctl(self->descriptor.fd, FIONREAD, &n_bytes) != 0)
        return 0;
    return (gsize)MAX(n_bytes, 0);
}

/* A service that keeps sending does not keep the thread here. One packet more may be read, since
 * reading again is the only way to notice EOF. */
void
packet_socket_read(PacketSocket *self)
{
    gsize n_left = count_available(self), size = 0;

    while (self->is_open && read_packet(self, &size)) {
        if (size > 0 && n_left == 0)
            return;
        n_left -= MIN(n_left, size);
    }
}

/* Reads one packet, after which the waiting thread or a callback may have its result. Callbacks see
 * the current state nevertheless, since getters read what has arrived first. */
static void
on_ready(gpointer data, short revents)
{
    PacketSocket *self = data;
    gsize size;

    if (revents & POLLOUT)
        packet_socket_send(self);
    if (self->is_open && (revents & ~POLLOUT) != 0)
        read_packet(self, &size);
}

PacketSocket *
packet_socket_new(Session *session, const PacketSocketFuncs *funcs, gpointer data)
{
    PacketSocket *self = g_new0(PacketSocket, 1);

    self->session = session;
    self->funcs = funcs;
    self->data = data;
    self->descriptor.ready = on_ready;
    self->descriptor.data = self;
    self->queue = g_byte_array_new();
    return self;
}

void
packet_socket_free(PacketSocket *self)
{
    packet_socket_close(self);
    g_byte_array_unref(self->queue);
    g_free(self->packet);
    g_free(self);
}
