/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cluster-connection.h"

#include <errno.h>
#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define OUTPUT_BYTES_MAX (4u * 1024 * 1024)
/* The number of packets that are received without returning to the main loop. */
#define PACKETS_PER_TURN 64

struct ClusterConnection {
    guint refs; /* the owner's, and one while messages are received */
    int fd;     /* -1: freed by the owner */
    gboolean is_closed;
    const ClusterConnectionHandler *handler;
    gpointer data;
    GByteArray *out;
    guint n_sent; /* bytes at the beginning of `out` that have been sent */
    guint readable_id;
    guint writable_id;
    guint8 *packet;
};

static void
unref(ClusterConnection *self)
{
    if (--self->refs > 0)
        return;
    g_byte_array_unref(self->out);
    g_free(self->packet);
    g_free(self);
}

static void
stop(ClusterConnection *self)
{
    g_clear_handle_id(&self->readable_id, g_source_remove);
    g_clear_handle_id(&self->writable_id, g_source_remove);
}

static void
fail(ClusterConnection *self, const char *reason)
{
    if (self->is_closed)
        return;
    self->is_closed = TRUE;
    stop(self);
    self->handler->closed(reason, self->data);
}

/* ---- receiving */

/* Why there is an end. */
static const char *
get_end_reason(const ClusterConnection *self)
{
    return self->out->len > OUTPUT_BYTES_MAX ? "the peer does not receive"
                                             : "the peer has closed it";
}

/* Returns FALSE if there is no packet to receive, or never will be. */
static gboolean
receive(ClusterConnection *self)
{
    const ssize_t size =
        recv(self->fd, self->packet, CLUSTER_PACKET_BYTES_MAX, MSG_DONTWAIT | MSG_TRUNC);
    g_auto(ClusterMessage) message = {0};

    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return FALSE;
    if (size <= 0) {
        fail(self, size == 0 ? get_end_reason(self) : g_strerror(errno));
        return FALSE;
    }
    if (!self->handler->read_packet(&message, self->packet, (gsize)size)) {
        fail(self, "malformed packet");
        return FALSE;
    }
    self->handler->received(&message, self->data);
    return !self->is_closed;
}

static gboolean
on_readable(int fd, GIOCondition condition, gpointer data)
{
    ClusterConnection *self = data;
    guint n_received = 0;

    self->refs++;
    while (n_received < PACKETS_PER_TURN && receive(self))
        n_received++;
    unref(self);
    return G_SOURCE_CONTINUE; /* removed by stop() */
}

/* ---- sending */

static gboolean
on_writable(int fd, GIOCondition condition, gpointer data)
{
    ClusterConnection *self = data;

    self->writable_id = 0;
    cluster_connection_flush(self);
    return G_SOURCE_REMOVE;
}

/* Sends one packet. Returns FALSE if it was not accepted. */
static gboolean
send_next(ClusterConnection *self)
{
    const guint8 *packet = self->out->data + self->n_sent;
    ClusterHead head;

    memcpy(&head, packet, sizeof head);
    if (send(self->fd, packet, head.size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return FALSE;
    self->n_sent += head.size;
    return TRUE;
}

void
cluster_connection_flush(ClusterConnection *self)
{
    if (self->is_closed)
        return;
    if (self->out->len > OUTPUT_BYTES_MAX)
        shutdown(self->fd, SHUT_RDWR); /* the main loop receives the end */
    if (self->writable_id != 0)
        return;
    while (self->n_sent < self->out->len && send_next(self))
        ;
    if (self->n_sent < self->out->len) {
        if (errno == EAGAIN || errno == ENOBUFS)
            cluster_connection_await_writable(self);
        else
            shutdown(self->fd, SHUT_RDWR);
    }
    if (self->n_sent > 0)
        g_byte_array_remove_range(self->out, 0, self->n_sent);
    self->n_sent = 0;
}

void
cluster_connection_await_writable(ClusterConnection *self)
{
    if (!self->is_closed && self->writable_id == 0)
        self->writable_id = g_unix_fd_add(self->fd, G_IO_OUT, on_writable, self);
}

GByteArray *
cluster_connection_get_output(ClusterConnection *self)
{
    return self->out;
}

/* ---- */

int
cluster_connection_open(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (g_strlcpy(address.sun_path, path, sizeof address.sun_path) >= sizeof address.sun_path)
        return -1;
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

ClusterConnection *
cluster_connection_new(int fd, const ClusterConnectionHandler *handler, gpointer data)
{
    ClusterConnection *self = g_new0(ClusterConnection, 1);

    self->refs = 1;
    self->fd = fd;
    self->handler = handler;
    self->data = data;
    self->out = g_byte_array_new();
    self->packet = g_malloc(CLUSTER_PACKET_BYTES_MAX);
    g_unix_set_fd_nonblocking(fd, TRUE, NULL);
    self->readable_id = g_unix_fd_add(fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_readable, self);
    return self;
}

void
cluster_connection_free(ClusterConnection *self)
{
    if (self == NULL)
        return;
    stop(self);
    self->is_closed = TRUE;
    close(self->fd);
    self->fd = -1;
    unref(self);
}
