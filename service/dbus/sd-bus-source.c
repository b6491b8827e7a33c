/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sd-bus-source.h"

#include <poll.h>

/* Bounds the time until timers and other sources are dispatched while messages keep arriving. */
#define BATCH_MESSAGES 32

typedef struct {
    GSource parent;
    sd_bus *bus;
    gpointer fd_tag;
    GIOCondition waits_for;
    const SdBusSourceHooks *hooks;
    gpointer data;
} SdBusSource;

/* g_source_modify_unix_fd() wakes the context even from its own thread, so it is called only if
 * the condition changes. */
static void
wait_for(SdBusSource *self, int events)
{
    GIOCondition condition = (events & POLLIN ? G_IO_IN : 0) | (events & POLLOUT ? G_IO_OUT : 0);

    if (condition == self->waits_for)
        return;
    self->waits_for = condition;
    g_source_modify_unix_fd(&self->parent, self->fd_tag, condition);
}

/* Updates the poll condition, which may change with each message that is read or queued. */
static gboolean
sd_bus_source_prepare(GSource *source, int *timeout_ms)
{
    SdBusSource *self = (SdBusSource *)source;
    int events = sd_bus_get_events(self->bus);
    uint64_t ready_us;

    *timeout_ms = -1;
    if (events < 0 || sd_bus_get_timeout(self->bus, &ready_us) < 0)
        return TRUE; /* the connection is closed, which dispatch will detect */

    if (!self->hooks->may_read(self->data)) {
        wait_for(self, events & ~POLLIN);
        return FALSE;
    }
    wait_for(self, events);
    if (ready_us == 0)
        return TRUE; /* sd-bus has read messages that it has not processed */
    g_source_set_ready_time(source, ready_us == UINT64_MAX ? -1 : (gint64)ready_us);
    return FALSE;
}

/* A message handler may destroy the source. sd_bus_process() is called at least once, even if
 * may_read() is FALSE, since it also writes. */
static int
process_batch(SdBusSource *self)
{
    guint n_left = BATCH_MESSAGES;
    int r;

    do {
        r = sd_bus_process(self->bus, NULL);
    } while (r > 0 && --n_left > 0 && !g_source_is_destroyed(&self->parent) &&
             self->hooks->may_read(self->data));
    return r;
}

static gboolean
sd_bus_source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    SdBusSource *self = (SdBusSource *)source;
    int r = process_batch(self);

    if (g_source_is_destroyed(source))
        return G_SOURCE_REMOVE;
    if (!sd_bus_has_ended(self->bus, r))
        return G_SOURCE_CONTINUE;
    self->hooks->on_closed(self->data);
    return G_SOURCE_REMOVE;
}

static void
sd_bus_source_finalize(GSource *source)
{
    sd_bus_unref(((SdBusSource *)source)->bus);
}

static GSourceFuncs sd_bus_source_funcs = {
    .prepare = sd_bus_source_prepare,
    .dispatch = sd_bus_source_dispatch,
    .finalize = sd_bus_source_finalize,
};

GSource *
sd_bus_source_attach(sd_bus *bus, const SdBusSourceHooks *hooks, gpointer data)
{
    GSource *source = g_source_new(&sd_bus_source_funcs, sizeof(SdBusSource));
    SdBusSource *self = (SdBusSource *)source;

    g_source_set_static_name(source, "sd-bus");
    /* The source does not recurse; but without this GLib removes the descriptor from the poll set
     * and adds it again at each dispatch. */
    g_source_set_can_recurse(source, TRUE);
    self->bus = sd_bus_ref(bus);
    self->hooks = hooks;
    self->data = data;
    self->waits_for = G_IO_IN;
    self->fd_tag = g_source_add_unix_fd(source, sd_bus_get_fd(bus), self->waits_for);
    g_source_attach(source, NULL);
    return source;
}
