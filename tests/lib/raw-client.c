/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/lib/raw-client.h"

#include <errno.h>
#include <gio/gunixfdlist.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/bus-names.h"

/* ---- opening */

static int
open_socket(GDBusConnection *connection)
{
    g_autoptr(GUnixFDList) fds = NULL;
    g_autoptr(GVariant) reply = NULL, parameters = NULL;
    g_autoptr(GError) error = NULL;
    GVariantDict options;
    gint32 index;
    int fd;

    g_variant_dict_init(&options, NULL);
    g_variant_dict_insert(&options, BUS_OPTION_VERSION, "u", PACKET_VERSION);
    reply = g_dbus_connection_call_with_unix_fd_list_sync(
        connection, BUS_SERVICE_NAME, BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "OpenSocket",
        g_variant_new("(@a{sv})", g_variant_dict_end(&options)), G_VARIANT_TYPE("(ha{sv})"),
        G_DBUS_CALL_FLAGS_NONE, -1, NULL, &fds, NULL, &error);
    g_assert_no_error(error);
    g_variant_get(reply, "(h@a{sv})", &index, &parameters);
    fd = g_unix_fd_list_get(fds, index, &error);
    g_assert_no_error(error);
    return fd;
}

RawClient *
raw_client_new_for_fd(int fd)
{
    RawClient *self = g_new0(RawClient, 1);

    self->fd = fd;
    self->out = g_byte_array_new();
    return self;
}

RawClient *
raw_client_new(GDBusConnection *connection)
{
    return raw_client_new_for_fd(open_socket(connection));
}

void
raw_client_free(RawClient *self)
{
    close(self->fd);
    g_byte_array_unref(self->out);
    g_free(self);
}

guint64
raw_client_next_serial(RawClient *self)
{
    return ++self->last_serial;
}

/* ---- sending and receiving */

static void
wait_for(RawClient *self, short events)
{
    struct pollfd poll_fd = {.fd = self->fd, .events = events};
    int r;

    do
        r = poll(&poll_fd, 1, -1);
    while (r < 0 && errno == EINTR);
    g_assert_cmpint(r, ==, 1);
}

void
raw_client_send(RawClient *self)
{
    gsize offset = 0;

    while (offset < self->out->len) {
        gsize length = packet_get_length(self->out, offset, PACKET_BYTES_MAX);

        if (send(self->fd, self->out->data + offset, length, MSG_NOSIGNAL) >= 0) {
            offset += length;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            break; /* receiving shows the end */
        } else {
            g_assert_cmpint(errno, ==, EAGAIN);
            wait_for(self, POLLOUT);
        }
    }
    g_byte_array_set_size(self->out, 0);
}

const PacketHead *
raw_client_receive(RawClient *self)
{
    const PacketHead *head;

    while (self->offset == self->size) {
        ssize_t n = recv(self->fd, self->in, sizeof self->in, 0);

        if (n == 0)
            return NULL;
        if (n > 0) {
            self->size = (gsize)n;
            self->offset = 0;
        } else if (errno == EAGAIN) {
            wait_for(self, POLLIN);
        } else {
            /* The kernel reports once that packets of this socket were left unread; there may be
             * more to read. */
            g_assert_cmpint(errno, ==, ECONNRESET);
        }
    }
    head = packet_read_from_service(self->in, self->size, &self->offset);
    g_assert_nonnull(head);
    return head;
}

const PacketHead *
raw_client_expect(RawClient *self, PacketKind kind)
{
    const PacketHead *head;

    do {
        head = raw_client_receive(self);
        g_assert_nonnull(head);
    } while (head->kind == PACKET_WANTED && kind != PACKET_WANTED);
    g_assert_cmpuint(head->kind, ==, kind);
    return head;
}
