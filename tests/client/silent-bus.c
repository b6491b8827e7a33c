/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/silent-bus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct SilentBus {
    int fd;
    char *directory; /* NULL: by TCP */
    char *path;
    char *address;
    GArray *fillers; /* of descriptors that fill the queue; the last one doesn't fit */
    GArray *accepted;
};

/* Connects until the queue is full: then a unix socket is refused, and one of TCP waits. */
static void
fill(SilentBus *self, const struct sockaddr *address, socklen_t size)
{
    int result;

    do {
        int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct pollfd connected = {.fd = fd, .events = POLLOUT};

        result = connect(fd, address, size);
        if (result != 0 && errno == EINPROGRESS && poll(&connected, 1, 200) == 1)
            result = 0;
        g_array_append_val(self->fillers, fd);
        g_assert_cmpuint(self->fillers->len, <, 100);
    } while (result == 0);
    g_assert_true(errno == EAGAIN || errno == EINPROGRESS);
}

static void
listen_on(SilentBus *self, const struct sockaddr *address, socklen_t size, gboolean is_full)
{
    self->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    g_assert_cmpint(bind(self->fd, address, size), ==, 0);
    g_assert_cmpint(listen(self->fd, is_full ? 0 : 128), ==, 0);
}

static void
listen_on_path(SilentBus *self, gboolean is_full)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    self->directory = g_dir_make_tmp("silent-bus-XXXXXX", NULL);
    g_assert_nonnull(self->directory);
    self->path = g_build_filename(self->directory, "bus", NULL);
    self->address = g_strconcat("unix:path=", self->path, NULL);
    g_assert_cmpuint(g_strlcpy(address.sun_path, self->path, sizeof address.sun_path), <,
                     sizeof address.sun_path);
    listen_on(self, (struct sockaddr *)&address, sizeof address, is_full);
    if (is_full)
        fill(self, (struct sockaddr *)&address, sizeof address);
}

static void
listen_on_loopback(SilentBus *self, gboolean is_full)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listen_on(self, (struct sockaddr *)&address, size, is_full);
    g_assert_cmpint(getsockname(self->fd, (struct sockaddr *)&address, &size), ==, 0);
    self->address = g_strdup_printf("tcp:host=127.0.0.1,port=%u", ntohs(address.sin_port));
    if (is_full)
        fill(self, (struct sockaddr *)&address, size);
}

SilentBus *
silent_bus_new(gboolean is_full, gboolean is_tcp)
{
    SilentBus *self = g_new0(SilentBus, 1);

    self->fillers = g_array_new(FALSE, FALSE, sizeof(int));
    self->accepted = g_array_new(FALSE, FALSE, sizeof(int));
    if (is_tcp)
        listen_on_loopback(self, is_full);
    else
        listen_on_path(self, is_full);
    return self;
}

guint
silent_bus_accept(SilentBus *self)
{
    const guint n_fillers = self->fillers->len > 0 ? self->fillers->len - 1 : 0;
    int fd;

    while ((fd = accept4(self->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        g_array_append_val(self->accepted, fd);
    g_assert_cmpint(errno, ==, EAGAIN);
    return self->accepted->len > n_fillers ? self->accepted->len - n_fillers : 0;
}

static void
close_all(GArray *fds)
{
    for (guint i = 0; i < fds->len; i++)
        close(g_array_index(fds, int, i));
    g_array_unref(fds);
}

void
silent_bus_free(SilentBus *self)
{
    close_all(self->fillers);
    close_all(self->accepted);
    close(self->fd);
    if (self->directory != NULL) {
        g_unlink(self->path);
        g_rmdir(self->directory);
    }
    g_free(self->directory);
    g_free(self->path);
    g_free(self->address);
    g_free(self);
}

const char *
silent_bus_get_address(const SilentBus *self)
{
    return self->address;
}
