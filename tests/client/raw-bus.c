/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/raw-bus.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "tests/client/fixture.h"

#define HEAD_BYTES 16
#define FDS_MAX    253

struct RawBus {
    int listener;
    int fd;
    char *directory;
    char *path;
    char *address;
    guint32 serial;
    GByteArray *in;
    GDBusMessageFlags flags; /* of the last message */
};

/* ---- receiving */

static gboolean
is_connected(gpointer data)
{
    RawBus *self = data;

    self->fd = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return self->fd >= 0;
}

static void
read_available(RawBus *self)
{
    guint8 bytes[4096];
    ssize_t n;

    while ((n = recv(self->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        g_byte_array_append(self->in, bytes, (guint)n);
}

static gboolean
has_line(RawBus *self, const char *line)
{
    const guint8 *found = NULL;

    read_available(self);
    if (self->in->len > 0)
        found = memmem(self->in->data, self->in->len, line, strlen(line));
    if (found != NULL)
        g_byte_array_remove_range(self->in, 0, (guint)(found - self->in->data + strlen(line)));
    return found != NULL;
}

static gboolean
has_negotiated(gpointer data)
{
    return has_line(data, "NEGOTIATE_UNIX_FD\r\n");
}

static gboolean
has_begun(gpointer data)
{
    return has_line(data, "BEGIN\r\n");
}

/* The size of the first message in the buffer; 0 if it is incomplete. */
static gsize
get_message_size(RawBus *self)
{
    gssize size;

    if (self->in->len < HEAD_BYTES)
        return 0;
    size = g_dbus_message_bytes_needed(self->in->data, self->in->len, NULL);
    g_assert_cmpint(size, >, 0);
    return (gsize)size <= self->in->len ? (gsize)size : 0;
}

static gboolean
has_message(gpointer data)
{
    read_available(data);
    return get_message_size(data) > 0;
}

gboolean
raw_bus_has_message(RawBus *self)
{
    return has_message(self);
}

guint32
raw_bus_receive(RawBus *self)
{
    g_autoptr(GDBusMessage) message = NULL;
    g_autoptr(GError) error = NULL;
    gsize size;

    test_wait(has_message, self);
    size = get_message_size(self);
    message =
        g_dbus_message_new_from_blob(self->in->data, size, G_DBUS_CAPABILITY_FLAGS_NONE, &error);
    g_assert_no_error(error);
    g_byte_array_remove_range(self->in, 0, (guint)size);
    self->flags = g_dbus_message_get_flags(message);
    return g_dbus_message_get_reply_serial(message) != 0 ? g_dbus_message_get_reply_serial(message)
                                                         : g_dbus_message_get_serial(message);
}

GDBusMessageFlags
raw_bus_get_flags(const RawBus *self)
{
    return self->flags;
}

/* ---- sending */

guint8 *
raw_bus_write(RawBus *self, GDBusMessage *message, gsize *out_size)
{
    g_autoptr(GError) error = NULL;
    guint8 *bytes;

    g_dbus_message_set_serial(message, ++self->serial);
    bytes =
        g_dbus_message_to_blob(message, out_size, G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, &error);
    g_assert_no_error(error);
    return bytes;
}

static gboolean
is_received(gpointer data)
{
    const RawBus *self = data;
    int n_bytes = 0;

    g_assert_cmpint(ioctl(self->fd, SIOCOUTQ, &n_bytes), ==, 0);
    return n_bytes == 0;
}

gboolean
raw_bus_send(RawBus *self, const guint8 *bytes, gsize size, const int *fds, guint n_fds)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {0};
    struct iovec iov = {(void *)bytes, size};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n;

    g_assert_cmpuint(n_fds, <=, FDS_MAX);
    if (n_fds > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, n_fds * sizeof(int));
    }
    n = sendmsg(self->fd, &message, MSG_NOSIGNAL);
    if (n < 0) {
        g_assert_cmpint(errno, ==, EPIPE);
        return FALSE;
    }
    g_assert_cmpint(n, ==, (ssize_t)size);
    test_wait(is_received, self);
    return TRUE;
}

static void
reply_from_bus(RawBus *self, const char *text)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new();
    g_autofree guint8 *bytes = NULL;
    gsize size;

    g_dbus_message_set_message_type(reply, G_DBUS_MESSAGE_TYPE_METHOD_RETURN);
    g_dbus_message_set_sender(reply, BUS_DRIVER_NAME);
    g_dbus_message_set_reply_serial(reply, raw_bus_receive(self));
    if (text != NULL)
        g_dbus_message_set_body(reply, g_variant_new("(s)", text));
    bytes = raw_bus_write(self, reply, &size);
    g_assert_true(raw_bus_send(self, bytes, size, NULL, 0));
}

static void
answer(RawBus *self, const char *text)
{
    test_wait(is_connected, self);
    test_wait(has_negotiated, self);
    g_assert_true(raw_bus_send(self, (const guint8 *)text, strlen(text), NULL, 0));
}

void
raw_bus_agree(RawBus *self)
{
    answer(self, "DATA\r\nOK 00112233445566778899aabbccddeeff\r\nAGREE_UNIX_FD\r\n");
    test_wait(has_begun, self);
}

void
raw_bus_disagree(RawBus *self)
{
    answer(self, "DATA\r\nOK 00112233445566778899aabbccddeeff\r\nERROR\r\n");
}

void
raw_bus_welcome(RawBus *self)
{
    raw_bus_agree(self);
    reply_from_bus(self, ":1.2");          /* Hello */
    reply_from_bus(self, NULL);            /* AddMatch */
    reply_from_bus(self, RAW_BUS_SERVICE); /* GetNameOwner */
}

/* ---- life */

RawBus *
raw_bus_new(void)
{
    RawBus *self = g_new0(RawBus, 1);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    self->directory = g_dir_make_tmp("raw-bus-XXXXXX", NULL);
    self->path = g_build_filename(self->directory, "bus", NULL);
    self->address = g_strconcat("unix:path=", self->path, NULL);
    self->in = g_byte_array_new();
    self->fd = -1;
    g_assert_cmpuint(g_strlcpy(address.sun_path, self->path, sizeof address.sun_path), <,
                     sizeof address.sun_path);
    self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    g_assert_cmpint(bind(self->listener, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(self->listener, 1), ==, 0);
    return self;
}

void
raw_bus_free(RawBus *self)
{
    if (self->fd >= 0)
        close(self->fd);
    close(self->listener);
    g_unlink(self->path);
    g_rmdir(self->directory);
    g_free(self->directory);
    g_free(self->path);
    g_free(self->address);
    g_byte_array_unref(self->in);
    g_free(self);
}

const char *
raw_bus_get_address(const RawBus *self)
{
    return self->address;
}

int
raw_bus_get_fd(const RawBus *self)
{
    return self->fd;
}
