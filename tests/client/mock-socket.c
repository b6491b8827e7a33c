/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/mock-socket.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/client/fixture.h"

struct MockSocket {
    int fd;
    GQueue messages; /* of PacketHead; not yet received by the test */
    gboolean is_left;
};

/* ---- reading */

/* Returns FALSE if there is nothing to read. */
static gboolean
read_packet(MockSocket *self)
{
    static guint64 packet[PACKET_BYTES_MAX / sizeof(guint64) + 1];
    ssize_t n = recv(self->fd, packet, sizeof packet, MSG_DONTWAIT);
    gsize offset = 0;

    if (n < 0) {
        g_assert_true(errno == EAGAIN || errno == ECONNRESET);
        return errno == ECONNRESET;
    }
    g_assert_cmpint(n, <=, PACKET_BYTES_MAX);
    self->is_left = n == 0;
    while (offset < (gsize)n) {
        const PacketHead *head = packet_read_from_client(packet, (gsize)n, &offset);

        g_assert_nonnull(head);
        g_queue_push_tail(&self->messages, g_memdup2(head, head->size));
    }
    return TRUE;
}

static gboolean
has_news(gpointer data)
{
    MockSocket *self = data;

    while (self->messages.length == 0 && !self->is_left && read_packet(self))
        continue;
    return self->messages.length > 0 || self->is_left;
}

gboolean
mock_socket_has_message(MockSocket *self)
{
    return has_news(self) && self->messages.length > 0;
}

static gboolean
do_nothing(int fd, GIOCondition condition, gpointer data)
{
    return G_SOURCE_CONTINUE;
}

PacketHead *
mock_socket_receive(MockSocket *self, const char *what)
{
    const guint waker = g_unix_fd_add(self->fd, G_IO_IN, do_nothing, NULL);

    test_wait_for(has_news, self, what);
    g_source_remove(waker);
    return g_queue_pop_head(&self->messages);
}

/* ---- sending */

typedef struct {
    MockSocket *socket;
    const GByteArray *bytes;
} Sending;

/* Also true if the client has closed its end. */
static gboolean
is_sent(gpointer data)
{
    const Sending *sending = data;
    const GByteArray *bytes = sending->bytes;

    if (send(sending->socket->fd, bytes->data, bytes->len, MSG_NOSIGNAL) == (ssize_t)bytes->len)
        return TRUE;
    g_assert_true(errno == EAGAIN || errno == EPIPE || errno == ECONNRESET);
    return errno != EAGAIN;
}

void
mock_socket_send(MockSocket *self, const GByteArray *bytes)
{
    Sending sending = {self, bytes};
    guint waker;

    if (is_sent(&sending))
        return;
    waker = g_unix_fd_add(self->fd, G_IO_OUT, do_nothing, NULL);
    test_wait_for(is_sent, &sending, "room in the socket");
    g_source_remove(waker);
}

/* ---- creation and end */

MockSocket *
mock_socket_new(gboolean is_small, int *out_client_fd)
{
    MockSocket *self = g_new0(MockSocket, 1);
    const int few_bytes = 1;
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), ==,
                    0);
    self->fd = fds[0];
    *out_client_fd = fds[1];
    if (is_small)
        g_assert_cmpint(setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &few_bytes, sizeof few_bytes), ==,
                        0);
    return self;
}

void
mock_socket_free(MockSocket *self)
{
    close(self->fd);
    g_queue_clear_full(&self->messages, g_free);
    g_free(self);
}
