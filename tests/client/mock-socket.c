/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/mock-socket.h"

#include <glib-unix.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/client/fixture.h"

struct MockSocket {
    int fd; /* -1: closed by the script */
    guint source;
    MockManners manners;
    GByteArray *bytes; /* read, and not understood yet */
    GQueue calls;      /* of GDBusMessage; not expected yet */
    guint32 last_serial;
    gboolean has_begun;
    gboolean is_open; /* the handshake is over */
    gboolean is_left;
};

/* ---- writing */

static void
write_bytes(MockSocket *self, gconstpointer bytes, gsize n_bytes)
{
    ssize_t n;

    g_assert_cmpint(self->fd, >=, 0);
    n = send(self->fd, bytes, n_bytes, MSG_NOSIGNAL);
    /* A client may leave when it likes. */
    if (n < 0)
        g_assert_cmpint(errno, ==, EPIPE);
    else
        g_assert_cmpint(n, ==, n_bytes);
}

void
mock_socket_write(MockSocket *self, const char *text)
{
    write_bytes(self, text, strlen(text));
}

static void
send_message(MockSocket *self, GDBusMessage *message, const char *sender, const char *body)
{
    g_autoptr(GError) error = NULL;
    g_autofree guchar *blob = NULL;
    gsize n_bytes;

    if (body != NULL) {
        g_dbus_message_set_body(message, g_variant_parse(NULL, body, NULL, NULL, &error));
        g_assert_no_error(error);
    }
    if (sender != NULL)
        g_dbus_message_set_sender(message, sender);
    g_dbus_message_set_serial(message, ++self->last_serial);
    blob = g_dbus_message_to_blob(message, &n_bytes, G_DBUS_CAPABILITY_FLAGS_NONE, &error);
    g_assert_no_error(error);
    write_bytes(self, blob, n_bytes);
}

void
mock_socket_answer(MockSocket *self, GDBusMessage *call, const char *sender, const char *body)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new_method_reply(call);

    send_message(self, reply, sender, body);
}

void
mock_socket_answer_error(MockSocket *self, GDBusMessage *call, const char *sender, const char *name)
{
    g_autoptr(GDBusMessage) reply =
        g_dbus_message_new_method_error_literal(call, name, "as the script says");

    send_message(self, reply, sender, NULL);
}

void
mock_socket_signal(
    MockSocket *self, GDBusMessage *call, const char *sender, const char *member, const char *body)
{
    g_autoptr(GDBusMessage) signal =
        g_dbus_message_new_signal(g_dbus_message_get_path(call), "org.w3.WebLocks", member);

    send_message(self, signal, sender, body);
}

/* ---- the handshake */

/* A polite one has said its part before: so the client need not wait for the script. */
#define POLITE_WORDS "DATA\r\nOK 0123456789abcdef0123456789abcdef\r\n"

static void
take_line(MockSocket *self, const char *line)
{
    if (self->manners == MOCK_SOCKET_POLITE)
        self->is_open = g_str_equal(line, "BEGIN");
    else if (g_str_has_prefix(line, "AUTH "))
        mock_socket_write(self, "REJECTED MAGIC\r\n");
    else
        mock_socket_write(self, "ERROR\r\n");
}

static void
shake_hands(MockSocket *self)
{
    if (self->manners == MOCK_SOCKET_SILENT)
        return;
    if (self->manners == MOCK_SOCKET_ENDS) {
        mock_socket_close(self);
        return;
    }
    if (self->manners == MOCK_SOCKET_MUMBLES) {
        mock_socket_write(self, "OK, why not?\r\nEr.\r\n");
        return;
    }
    while (!self->is_open && self->bytes->len > 0) {
        const guint8 *end = memchr(self->bytes->data, '\n', self->bytes->len);
        g_autofree char *line = NULL;

        if (!self->has_begun) {
            g_assert_cmpint(self->bytes->data[0], ==, 0);
            g_byte_array_remove_index(self->bytes, 0);
            self->has_begun = TRUE;
            continue;
        }
        if (end == NULL)
            return;
        line = g_strndup((const char *)self->bytes->data, (gsize)(end - self->bytes->data));
        g_byte_array_remove_range(self->bytes, 0, (guint)(end + 1 - self->bytes->data));
        take_line(self, g_strchomp(line));
    }
}

/* ---- reading */

static void
take_messages(MockSocket *self)
{
    while (self->bytes->len >= 16) {
        g_autoptr(GError) error = NULL;
        gssize length = g_dbus_message_bytes_needed(self->bytes->data, self->bytes->len, &error);
        GDBusMessage *message;

        g_assert_no_error(error);
        if ((gssize)self->bytes->len < length)
            return;
        message = g_dbus_message_new_from_blob(self->bytes->data, (gsize)length,
                                               G_DBUS_CAPABILITY_FLAGS_NONE, &error);
        g_assert_no_error(error);
        g_queue_push_tail(&self->calls, message);
        g_byte_array_remove_range(self->bytes, 0, (guint)length);
    }
}

static void
read_all(MockSocket *self)
{
    guint8 bytes[4096];
    ssize_t n = -1;

    while (self->fd >= 0 && !self->is_left) {
        n = recv(self->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            self->is_left = TRUE;
            return;
        }
        g_byte_array_append(self->bytes, bytes, (guint)n);
        if (!self->is_open)
            shake_hands(self);
        if (self->is_open)
            take_messages(self);
    }
}

static gboolean
on_readable(int fd, GIOCondition condition, gpointer data)
{
    MockSocket *self = data;

    read_all(self);
    if (!self->is_left && self->fd >= 0)
        return G_SOURCE_CONTINUE;
    self->source = 0;
    return G_SOURCE_REMOVE;
}

static gboolean
has_call(gpointer data)
{
    return mock_socket_count(data) > 0;
}

GDBusMessage *
mock_socket_expect_any(MockSocket *self)
{
    test_wait_for(has_call, self, "a call on the socket");
    return g_queue_pop_head(&self->calls);
}

GDBusMessage *
mock_socket_expect(MockSocket *self, const char *member)
{
    GDBusMessage *call;

    test_wait_for(has_call, self, member);
    call = g_queue_pop_head(&self->calls);
    g_assert_cmpstr(g_dbus_message_get_member(call), ==, member);
    return call;
}

guint
mock_socket_count(MockSocket *self)
{
    read_all(self);
    return self->calls.length;
}

gboolean
mock_socket_has_heard(gpointer mock_socket)
{
    MockSocket *self = mock_socket;

    read_all(self);
    return self->bytes->len > 0;
}

gboolean
mock_socket_is_open(gpointer mock_socket)
{
    return ((const MockSocket *)mock_socket)->is_open;
}

gboolean
mock_socket_is_left(gpointer mock_socket)
{
    MockSocket *self = mock_socket;

    read_all(self);
    return self->is_left || self->fd < 0;
}

static gboolean
is_decided(gpointer mock_socket)
{
    return mock_socket_is_open(mock_socket) || mock_socket_is_left(mock_socket);
}

gboolean
mock_socket_wait(MockSocket *self)
{
    test_wait(is_decided, self);
    return self->is_open;
}

void
mock_socket_expect_end(MockSocket *self)
{
    read_all(self);
    for (GList *l = self->calls.head; l != NULL; l = l->next)
        g_assert_cmpstr(g_dbus_message_get_member(l->data), ==, NULL);
}

/* ---- life */

MockSocket *
mock_open_socket(MockBus *mock, GDBusMessage *call, const char *sender, MockManners manners)
{
    MockSocket *self = g_new0(MockSocket, 1);
    int fds[2];

    g_assert_cmpstr(g_dbus_message_get_member(call), ==, "OpenPeer");
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==, 0);
    self->fd = fds[0];
    self->manners = manners;
    self->bytes = g_byte_array_new();
    self->source = g_unix_fd_add(self->fd, G_IO_IN | G_IO_HUP, on_readable, self);
    if (manners == MOCK_SOCKET_POLITE)
        mock_socket_write(self, POLITE_WORDS);
    mock_answer_fd(mock, call, sender, fds[1]);
    return self;
}

void
mock_socket_close(MockSocket *self)
{
    g_clear_handle_id(&self->source, g_source_remove);
    if (self->fd >= 0)
        close(self->fd);
    self->fd = -1;
}

void
mock_socket_free(MockSocket *self)
{
    mock_socket_close(self);
    g_queue_clear_full(&self->calls, g_object_unref);
    g_byte_array_unref(self->bytes);
    g_free(self);
}
