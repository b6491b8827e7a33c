/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/silent-bus.h"

#include <arpa/inet.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct SilentBus {
    SilentBusStep step;
    int fd;
    int stop_fd;
    char *directory; /* NULL: by TCP */
    char *path;
    char *address;
    GArray *fillers; /* of descriptors that fill the queue */
    int n_clients;   /* atomic; negative: a filler has not been accepted yet */
    GThread *thread; /* NULL: it accepts nothing */
};

/* ---- connections */

/* Answers the authentication when the client has sent all of it. */
static void
answer(const SilentBus *self, int fd)
{
    static const char agreement[] =
        "DATA\r\nOK 00112233445566778899aabbccddeeff\r\nAGREE_UNIX_FD\r\n";
    char bytes[4096];
    const ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (n > 0 && self->step == SILENT_BUS_AGREES &&
        memmem(bytes, (size_t)n, "NEGOTIATE_UNIX_FD", strlen("NEGOTIATE_UNIX_FD")) != NULL)
        g_assert_cmpint(send(fd, agreement, sizeof agreement - 1, MSG_NOSIGNAL), ==,
                        sizeof agreement - 1);
}

static void
add(GArray *polled, int fd)
{
    struct pollfd entry = {.fd = fd, .events = POLLIN};

    g_array_append_val(polled, entry);
}

static gpointer
run(gpointer data)
{
    SilentBus *self = data;
    g_autoptr(GArray) polled = g_array_new(FALSE, FALSE, sizeof(struct pollfd));

    add(polled, self->stop_fd);
    add(polled, self->fd);
    while (poll((struct pollfd *)(void *)polled->data, polled->len, -1) > 0) {
        const guint n = polled->len;

        if (g_array_index(polled, struct pollfd, 0).revents != 0)
            break;
        for (guint i = 2; i < n; i++)
            if (g_array_index(polled, struct pollfd, i).revents & POLLIN)
                answer(self, g_array_index(polled, struct pollfd, i).fd);
        if (g_array_index(polled, struct pollfd, 1).revents != 0) {
            add(polled, accept4(self->fd, NULL, NULL, SOCK_CLOEXEC));
            g_atomic_int_inc(&self->n_clients);
        }
        for (guint i = 2; i < polled->len; i++) /* a client that has left */
            if (g_array_index(polled, struct pollfd, i).revents & POLLHUP)
                g_array_index(polled, struct pollfd, i).events = 0;
    }
    for (guint i = 2; i < polled->len; i++)
        close(g_array_index(polled, struct pollfd, i).fd);
    return NULL;
}

/* ---- the socket */

/* Connects until the queue is full: then a unix socket is refused, and one of TCP waits. */
static void
fill(SilentBus *self, const struct sockaddr *address, socklen_t size)
{
    int result;

    if (self->step != SILENT_BUS_FULL)
        return;
    do {
        int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct pollfd connected = {.fd = fd, .events = POLLOUT};

        result = connect(fd, address, size);
        if (result != 0 && errno == EINPROGRESS && poll(&connected, 1, 200) == 1)
            result = 0;
        if (result == 0)
            self->n_clients--;
        g_array_append_val(self->fillers, fd);
        g_assert_cmpuint(self->fillers->len, <, 100);
    } while (result == 0);
    g_assert_true(errno == EAGAIN || errno == EINPROGRESS);
}

static void
listen_on(SilentBus *self, const struct sockaddr *address, socklen_t size)
{
    self->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(self->fd, address, size), ==, 0);
    g_assert_cmpint(listen(self->fd, self->step == SILENT_BUS_FULL ? 0 : 128), ==, 0);
}

static void
listen_on_path(SilentBus *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    self->directory = g_dir_make_tmp("silent-bus-XXXXXX", NULL);
    g_assert_nonnull(self->directory);
    self->path = g_build_filename(self->directory, "bus", NULL);
    self->address = g_strconcat("unix:path=", self->path, NULL);
    g_assert_cmpuint(g_strlcpy(address.sun_path, self->path, sizeof address.sun_path), <,
                     sizeof address.sun_path);
    listen_on(self, (struct sockaddr *)&address, sizeof address);
    fill(self, (struct sockaddr *)&address, sizeof address);
}

static void
listen_on_loopback(SilentBus *self)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listen_on(self, (struct sockaddr *)&address, size);
    g_assert_cmpint(getsockname(self->fd, (struct sockaddr *)&address, &size), ==, 0);
    self->address = g_strdup_printf("tcp:host=127.0.0.1,port=%u", ntohs(address.sin_port));
    fill(self, (struct sockaddr *)&address, size);
}

SilentBus *
silent_bus_new(SilentBusStep step, gboolean is_tcp)
{
    SilentBus *self = g_new0(SilentBus, 1);

    self->step = step;
    self->fillers = g_array_new(FALSE, FALSE, sizeof(int));
    if (is_tcp)
        listen_on_loopback(self);
    else
        listen_on_path(self);
    self->stop_fd = eventfd(0, EFD_CLOEXEC);
    g_assert_cmpint(self->stop_fd, >=, 0);
    if (step != SILENT_BUS_FULL)
        silent_bus_accept(self);
    return self;
}

void
silent_bus_accept(SilentBus *self)
{
    self->thread = g_thread_new("silent-bus", run, self);
}

guint
silent_bus_count_clients(SilentBus *self)
{
    return (guint)MAX(g_atomic_int_get(&self->n_clients), 0);
}

void
silent_bus_free(SilentBus *self)
{
    const guint64 one = 1;

    if (self->thread != NULL) {
        g_assert_cmpint(write(self->stop_fd, &one, sizeof one), ==, sizeof one);
        g_thread_join(self->thread);
    }
    for (guint i = 0; i < self->fillers->len; i++)
        close(g_array_index(self->fillers, int, i));
    g_array_unref(self->fillers);
    close(self->stop_fd);
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
