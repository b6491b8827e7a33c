/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "common/sd-bus-source.h"

#include <poll.h>

/* Few enough that timers and other sources get their turn under a flood. */
#define BATCH_MESSAGES 32

typedef struct {
    GSource parent;
    sd_bus *bus;
    gpointer fd_tag;
    GIOCondition waits_for;
    const SdBusSourceHooks *hooks;
    gpointer data;
} SdBusSource;

/* GLib wakes the context for each modification, even from its own thread: so only real ones. */
static void
wait_for(SdBusSource *self, int events)
{
    GIOCondition condition = (events & POLLIN ? G_IO_IN : 0) | (events & POLLOUT ? G_IO_OUT : 0);

    if (condition == self->waits_for)
        return;
    self->waits_for = condition;
    g_source_modify_unix_fd(&self->parent, self->fd_tag, condition);
}

static gboolean
may_read(const SdBusSource *self)
{
    return self->hooks->may_read == NULL || self->hooks->may_read(self->data);
}

/* Says what to wait for: sd-bus changes its mind with each message read or queued. */
static gboolean
sd_bus_source_prepare(GSource *source, int *timeout_ms)
{
    SdBusSource *self = (SdBusSource *)source;
    int events = sd_bus_get_events(self->bus);
    uint64_t ready_us;

    *timeout_ms = -1;
    if (events < 0 || sd_bus_get_timeout(self->bus, &ready_us) < 0)
        return TRUE; /* closed: dispatch will find out and say so */

    if (!may_read(self)) {
        wait_for(self, events & ~POLLIN);
        return FALSE;
    }
    wait_for(self, events);
    if (ready_us == 0)
        return TRUE; /* messages are read already and wait to be processed */
    g_source_set_ready_time(source, ready_us == UINT64_MAX ? -1 : (gint64)ready_us);
    return FALSE;
}

static gboolean
sd_bus_source_check(GSource *source)
{
    SdBusSource *self = (SdBusSource *)source;

    return g_source_query_unix_fd(source, self->fd_tag) != 0;
}

static gboolean
sd_bus_source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    SdBusSource *self = (SdBusSource *)source;
    const SdBusSourceHooks *hooks = self->hooks;
    guint n_left = BATCH_MESSAGES;
    int r;

    do {
        r = sd_bus_process(self->bus, NULL);
    } while (r > 0 && --n_left > 0 && !g_source_is_destroyed(source) && may_read(self));

    /* A message may have been the last thing that our user lived for. */
    if (g_source_is_destroyed(source))
        return G_SOURCE_REMOVE;
    if (hooks->after_batch != NULL)
        hooks->after_batch(self->data);

    /* What sd-bus itself wanted to send and had no room for is lost; no more than that. */
    if ((r >= 0 || sd_bus_wants_room(r)) && sd_bus_is_open(self->bus) > 0)
        return G_SOURCE_CONTINUE;

    if (hooks->on_closed != NULL && !g_source_is_destroyed(source))
        hooks->on_closed(self->data);
    return G_SOURCE_REMOVE;
}

static void
sd_bus_source_finalize(GSource *source)
{
    SdBusSource *self = (SdBusSource *)source;

    g_clear_pointer(&self->bus, sd_bus_unref);
}

static GSourceFuncs sd_bus_source_funcs = {
    .prepare = sd_bus_source_prepare,
    .check = sd_bus_source_check,
    .dispatch = sd_bus_source_dispatch,
    .finalize = sd_bus_source_finalize,
};

GSource *
sd_bus_source_attach(sd_bus *bus,
                     GMainContext *context,
                     const SdBusSourceHooks *hooks,
                     gpointer data)
{
    GSource *source = g_source_new(&sd_bus_source_funcs, sizeof(SdBusSource));
    SdBusSource *self = (SdBusSource *)source;

    g_source_set_static_name(source, "sd-bus");
    self->bus = sd_bus_ref(bus);
    self->hooks = hooks;
    self->data = data;
    self->waits_for = G_IO_IN;
    self->fd_tag = g_source_add_unix_fd(source, sd_bus_get_fd(bus), self->waits_for);
    g_source_attach(source, context);
    return source;
}
