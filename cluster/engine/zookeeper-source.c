/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "zookeeper-source.h"

#include <sys/socket.h>

#include "boot-time.h"

typedef struct {
    GSource parent;
    zhandle_t *zh;
    const ZookeeperSourceHooks *hooks;
    gpointer data;
    int fd; /* -1: not connected */
    gpointer fd_tag;
    GIOCondition waits_for;
    gint64 since_us; /* when the connection with this descriptor was begun */
    gint64 begun_us; /* the same, by CLOCK_BOOTTIME */
    gint64 patience_us;
    gint64 wakes_us;
    gint64 connects_us; /* not before this */
    gboolean is_lost;   /* since the last dispatch */
    gboolean is_dispatching;
} ZookeeperSource;

/* The client may have closed the descriptor, and opened another one with the same number. */
static void
wait_for(ZookeeperSource *self, int fd, int interest)
{
    GIOCondition condition =
        (interest & ZOOKEEPER_READ ? G_IO_IN : 0) | (interest & ZOOKEEPER_WRITE ? G_IO_OUT : 0);

    if (fd != self->fd) {
        if (self->fd_tag != NULL)
            g_source_remove_unix_fd(&self->parent, self->fd_tag);
        self->fd_tag = fd < 0 ? NULL : g_source_add_unix_fd(&self->parent, fd, condition);
        self->fd = fd;
        self->since_us = g_get_monotonic_time();
    } else if (fd >= 0 && condition != self->waits_for) {
        g_source_modify_unix_fd(&self->parent, self->fd_tag, condition);
    }
    self->waits_for = condition;
}

static void
note_loss(ZookeeperSource *self)
{
    self->is_lost = TRUE;
    wait_for(self, -1, 0);
}

/* Connects, and sends pings, as is due. Returns when to call it again. */
static gint64
run_interest(ZookeeperSource *self)
{
    gint64 now_us = g_get_monotonic_time();
    gint64 begun_us = boot_time_get_us();
    struct timeval timeout = {0};
    int fd = -1, interest = 0, r;

    if (is_unrecoverable(self->zh)) {
        wait_for(self, -1, 0);
        return G_MAXINT64;
    }
    if (self->is_lost) /* the owner has not been notified yet */
        return now_us;
    if (self->fd < 0 && now_us < self->connects_us)
        return self->connects_us;
    r = zookeeper_interest(self->zh, &fd, &interest, &timeout);
    /* After some failures it does not connect, but asks for a pause, once. `connects_us` is in
     * place of that. */
    if (r == ZOK && fd < 0)
        r = zookeeper_interest(self->zh, &fd, &interest, &timeout);
    if (r != ZOK) {
        note_loss(self);
        return now_us;
    }
    if (fd != self->fd)
        self->begun_us = begun_us;
    wait_for(self, fd, interest);
    return now_us + timeout.tv_sec * G_USEC_PER_SEC + timeout.tv_usec;
}

static gboolean
zookeeper_source_prepare(GSource *source, int *timeout_ms)
{
    ZookeeperSource *self = (ZookeeperSource *)source;
    gint64 now_us, alive_us = self->hooks->keep_alive(self->data);

    self->wakes_us = MIN(run_interest(self), alive_us);
    self->patience_us = self->fd < 0 ? -1 : self->hooks->patience_ends(self->since_us, self->data);
    if (self->patience_us >= 0)
        self->wakes_us = MIN(self->wakes_us, self->patience_us);
    now_us = g_get_monotonic_time();
    if (self->is_lost || self->wakes_us <= now_us || self->hooks->is_ready(self->data))
        return TRUE;
    *timeout_ms =
        self->wakes_us == G_MAXINT64 ? -1 : (int)MIN((self->wakes_us - now_us) / 1000 + 1, 60000);
    return FALSE;
}

static gboolean
zookeeper_source_check(GSource *source)
{
    ZookeeperSource *self = (ZookeeperSource *)source;

    return g_get_monotonic_time() >= self->wakes_us || self->hooks->is_ready(self->data) ||
           (self->fd >= 0 && g_source_query_unix_fd(source, self->fd_tag) != 0);
}

/* Reads at most one answer. Errors close the connection, which the client does by itself. */
static void
run_process(ZookeeperSource *self)
{
    GIOCondition ready = g_source_query_unix_fd(&self->parent, self->fd_tag);
    int events = 0, r;

    if (ready & (G_IO_IN | G_IO_HUP | G_IO_ERR))
        events |= ZOOKEEPER_READ;
    if (ready & (G_IO_OUT | G_IO_HUP | G_IO_ERR))
        events |= ZOOKEEPER_WRITE;
    if (self->patience_us >= 0 && g_get_monotonic_time() >= self->patience_us && events == 0) {
        self->hooks->gave_up(self->data);
        shutdown(self->fd, SHUT_RDWR);
        events = ZOOKEEPER_READ | ZOOKEEPER_WRITE;
    }
    if (events == 0)
        return;
    r = zookeeper_process(self->zh, events);
    if (r != ZOK && r != ZNOTHING)
        note_loss(self);
}

static gboolean
zookeeper_source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    ZookeeperSource *self = (ZookeeperSource *)source;

    self->is_dispatching = TRUE;
    if (self->fd >= 0 && !is_unrecoverable(self->zh))
        run_process(self);
    if (self->is_lost) {
        self->is_lost = FALSE;
        self->hooks->lost(self->data);
    }
    self->is_dispatching = FALSE;
    self->hooks->dispatched(self->data);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs zookeeper_source_funcs = {
    .prepare = zookeeper_source_prepare,
    .check = zookeeper_source_check,
    .dispatch = zookeeper_source_dispatch,
};

GSource *
zookeeper_source_attach(zhandle_t *zh,
                        GMainContext *context,
                        const ZookeeperSourceHooks *hooks,
                        gpointer data)
{
    GSource *source = g_source_new(&zookeeper_source_funcs, sizeof(ZookeeperSource));
    ZookeeperSource *self = (ZookeeperSource *)source;

    g_source_set_static_name(source, "zookeeper");
    /* Else GLib removes the descriptor from the poll set at each dispatch. */
    g_source_set_can_recurse(source, TRUE);
    self->zh = zh;
    self->hooks = hooks;
    self->data = data;
    self->fd = -1;
    g_source_attach(source, context);
    return source;
}

void
zookeeper_source_pause(GSource *source, gint64 until_us)
{
    ((ZookeeperSource *)source)->connects_us = until_us;
}

gint64
zookeeper_source_get_begun_us(GSource *source)
{
    return ((ZookeeperSource *)source)->begun_us;
}

void
zookeeper_source_disconnect(GSource *source)
{
    ZookeeperSource *self = (ZookeeperSource *)source;

    if (self->fd >= 0)
        shutdown(self->fd, SHUT_RDWR);
}

gboolean
zookeeper_source_is_dispatching(GSource *source)
{
    return ((ZookeeperSource *)source)->is_dispatching;
}
