/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The source that runs the client's handle: it polls the handle's descriptor, dispatches what has
 * arrived, and leaves a server that has been silent for too long. */

#include <sys/socket.h>

#include "boot-time.h"
#include "engine-private.h"

/* The client may have closed the descriptor, and opened another one with the same number. */
static void
wait_for(EngineSource *self, int fd, int interest)
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
note_loss(EngineSource *self)
{
    self->is_lost = TRUE;
    wait_for(self, -1, 0);
}

/* Connects, and sends pings, as is due. Returns when to call it again. */
static gint64
run_interest(EngineSource *self)
{
    gint64 now_us = g_get_monotonic_time();
    gint64 begun_us = boot_time_get_us();
    struct timeval timeout = {0};
    int fd = -1, interest = 0, r;

    if (is_unrecoverable(self->engine->zh)) {
        wait_for(self, -1, 0);
        return G_MAXINT64;
    }
    if (self->is_lost) /* the owner has not been notified yet */
        return now_us;
    if (self->fd < 0 && now_us < self->connects_us)
        return self->connects_us;
    r = zookeeper_interest(self->engine->zh, &fd, &interest, &timeout);
    /* After some failures it does not connect, but asks for a pause, once. `connects_us` is in
     * place of that. */
    if (r == ZOK && fd < 0)
        r = zookeeper_interest(self->engine->zh, &fd, &interest, &timeout);
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
engine_source_prepare(GSource *source, int *timeout_ms)
{
    EngineSource *self = (EngineSource *)source;
    gint64 now_us, alive_us = engine_keep_alive(self->engine);

    self->wakes_us = MIN(run_interest(self), alive_us);
    self->patience_us = self->fd < 0 ? -1 : engine_get_patience_us(self->engine);
    if (self->patience_us >= 0)
        self->wakes_us = MIN(self->wakes_us, self->patience_us);
    now_us = g_get_monotonic_time();
    if (self->is_lost || self->wakes_us <= now_us || engine_is_ready(self->engine))
        return TRUE;
    *timeout_ms =
        self->wakes_us == G_MAXINT64 ? -1 : (int)MIN((self->wakes_us - now_us) / 1000 + 1, 60000);
    return FALSE;
}

static gboolean
engine_source_check(GSource *source)
{
    EngineSource *self = (EngineSource *)source;

    return g_get_monotonic_time() >= self->wakes_us || engine_is_ready(self->engine) ||
           (self->fd >= 0 && g_source_query_unix_fd(source, self->fd_tag) != 0);
}

/* Reads at most one answer. Errors close the connection, which the client does by itself. */
static void
run_process(EngineSource *self)
{
    GIOCondition ready = g_source_query_unix_fd(&self->parent, self->fd_tag);
    int events = 0, r;

    if (ready & (G_IO_IN | G_IO_HUP | G_IO_ERR))
        events |= ZOOKEEPER_READ;
    if (ready & (G_IO_OUT | G_IO_HUP | G_IO_ERR))
        events |= ZOOKEEPER_WRITE;
    if (self->patience_us >= 0 && g_get_monotonic_time() >= self->patience_us && events == 0) {
        engine_on_gave_up(self->engine);
        shutdown(self->fd, SHUT_RDWR);
        events = ZOOKEEPER_READ | ZOOKEEPER_WRITE;
    }
    if (events == 0)
        return;
    r = zookeeper_process(self->engine->zh, events);
    if (r != ZOK && r != ZNOTHING)
        note_loss(self);
}

static gboolean
engine_source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    EngineSource *self = (EngineSource *)source;

    self->engine->is_dispatching = TRUE;
    if (self->fd >= 0 && !is_unrecoverable(self->engine->zh))
        run_process(self);
    if (self->is_lost) {
        self->is_lost = FALSE;
        engine_on_lost(self->engine);
    }
    engine_on_dispatched(self->engine);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs engine_source_funcs = {
    .prepare = engine_source_prepare,
    .check = engine_source_check,
    .dispatch = engine_source_dispatch,
};

EngineSource *
engine_source_new(Engine *engine, GMainContext *context)
{
    GSource *source = g_source_new(&engine_source_funcs, sizeof(EngineSource));
    EngineSource *self = (EngineSource *)source;

    g_source_set_static_name(source, "zookeeper");
    /* Else GLib removes the descriptor from the poll set at each dispatch. */
    g_source_set_can_recurse(source, TRUE);
    self->engine = engine;
    self->fd = -1;
    g_source_attach(source, context);
    return self;
}
