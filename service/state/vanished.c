/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "vanished.h"

#include <errno.h>
#include <glib-unix.h>
#include <sys/inotify.h>
#include <unistd.h>

#define DELAY_MS 100

#define EVENTS (IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

struct Vanished {
    char *directory;
    gboolean (*is_in_place)(gpointer data);
    void (*write_again)(gpointer data);
    gpointer data;
    int fd;
    guint source_id;
    guint delay_id; /* until they are written again; 0: they are in place */
};

/* Of vanished_open(), until it is used; -1: none. */
static int opened_fd = -1;

static gboolean on_delay(gpointer data);

static void
check(Vanished *self)
{
    if (self->delay_id == 0 && !self->is_in_place(self->data))
        self->delay_id = g_timeout_add(DELAY_MS, on_delay, self);
}

static gboolean
on_delay(gpointer data)
{
    Vanished *self = data;

    self->delay_id = 0;
    if (!self->is_in_place(self->data))
        self->write_again(self->data);
    /* The directory may be a new one, which may have been removed before it is watched. */
    inotify_add_watch(self->fd, self->directory, EVENTS);
    check(self);
    return G_SOURCE_REMOVE;
}

static gboolean
on_event(int fd, GIOCondition condition, gpointer data)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    Vanished *self = data;

    /* Once, since others can make events all the time. More events wake the main loop again. */
    if (read(fd, events, sizeof events) > 0)
        check(self);
    return G_SOURCE_CONTINUE;
}

static int
open_descriptor(void)
{
    return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

void
vanished_open(void)
{
    if (opened_fd < 0)
        opened_fd = open_descriptor();
}

Vanished *
vanished_watch(const char *directory,
               gboolean (*is_in_place)(gpointer data),
               void (*write_again)(gpointer data),
               gpointer data)
{
    int fd = opened_fd >= 0 ? opened_fd : open_descriptor();
    Vanished *self;

    opened_fd = -1;
    if (fd < 0 || inotify_add_watch(fd, directory, EVENTS) < 0) {
        g_info("%s is not watched: %s", directory, g_strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    self = g_new0(Vanished, 1);
    *self = (Vanished){g_strdup(directory), is_in_place, write_again, data, fd, 0, 0};
    self->source_id = g_unix_fd_add(fd, G_IO_IN, on_event, self);
    check(self);
    return self;
}

void
vanished_free(Vanished *self)
{
    g_clear_handle_id(&self->source_id, g_source_remove);
    g_clear_handle_id(&self->delay_id, g_source_remove);
    close(self->fd);
    g_free(self->directory);
    g_free(self);
}
