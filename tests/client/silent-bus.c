/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/silent-bus.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct SilentBus {
    int fd;
    char *directory;
    char *path;
    char *address;
    GArray *fillers; /* of descriptors that fill the queue; the last one doesn't fit */
    GArray *accepted;
};

/* Connects until the queue is full. */
static void
fill(SilentBus *self, const struct sockaddr_un *address)
{
    int result;

    do {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        result = connect(fd, (const struct sockaddr *)address, sizeof *address);
        g_array_append_val(self->fillers, fd);
        g_assert_cmpuint(self->fillers->len, <, 100);
    } while (result == 0);
    g_assert_cmpint(errno, ==, EAGAIN);
}

SilentBus *
silent_bus_new(gboolean is_full)
{
    SilentBus *self = g_new0(SilentBus, 1);
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    self->fillers = g_array_new(FALSE, FALSE, sizeof(int));
    self->accepted = g_array_new(FALSE, FALSE, sizeof(int));
    self->directory = g_dir_make_tmp("silent-bus-XXXXXX", NULL);
    g_assert_nonnull(self->directory);
    self->path = g_build_filename(self->directory, "bus", NULL);
    self->address = g_strconcat("unix:path=", self->path, NULL);
    g_assert_cmpuint(g_strlcpy(address.sun_path, self->path, sizeof address.sun_path), <,
                     sizeof address.sun_path);
    self->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    g_assert_cmpint(bind(self->fd, (struct sockaddr *)&address, sizeof address), ==, 0);
    g_assert_cmpint(listen(self->fd, is_full ? 0 : 128), ==, 0);
    if (is_full)
        fill(self, &address);
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
    g_unlink(self->path);
    g_rmdir(self->directory);
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
