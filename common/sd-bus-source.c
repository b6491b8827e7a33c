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
    GDestroyNotify data_free;
} SdBusSource;

static void
call_hook(const SdBusSource *self, void (*hook)(gpointer data))
{
    if (hook != NULL)
        hook(self->data);
}

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

static gboolean
may_read(const SdBusSource *self)
{
    return self->hooks->may_read == NULL || self->hooks->may_read(self->data);
}

/* Updates the poll condition, which may change with each message that is read or queued. */
static gboolean
is_ready(SdBusSource *self)
{
    int events = sd_bus_get_events(self->bus);
    uint64_t ready_us;

    if (events < 0 || sd_bus_get_timeout(self->bus, &ready_us) < 0)
        return TRUE; /* the connection is closed, which dispatch will detect */

    if (!may_read(self)) {
        wait_for(self, events & ~POLLIN);
        return FALSE;
    }
    wait_for(self, events);
    if (ready_us == 0)
        return TRUE; /* sd-bus has read messages that it has not processed */
    g_source_set_ready_time(&self->parent, ready_us == UINT64_MAX ? -1 : (gint64)ready_us);
    return FALSE;
}

static gboolean
sd_bus_source_prepare(GSource *source, int *timeout_ms)
{
    SdBusSource *self = (SdBusSource *)source;
    gboolean ready;

    *timeout_ms = -1;
    call_hook(self, self->hooks->enter);
    ready = g_source_is_destroyed(source) || is_ready(self);
    call_hook(self, self->hooks->leave);
    return ready;
}

static gboolean
sd_bus_source_check(GSource *source)
{
    SdBusSource *self = (SdBusSource *)source;

    return g_source_query_unix_fd(source, self->fd_tag) != 0;
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
    } while (r > 0 && --n_left > 0 && !g_source_is_destroyed(&self->parent) && may_read(self));
    return r;
}

static gboolean
sd_bus_source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    SdBusSource *self = (SdBusSource *)source;
    gboolean is_over;
    int r;

    call_hook(self, self->hooks->enter);
    if (g_source_is_destroyed(source)) {
        call_hook(self, self->hooks->leave);
        return G_SOURCE_REMOVE;
    }
    call_hook(self, self->hooks->before_batch);
    r = process_batch(self);
    call_hook(self, self->hooks->after_batch);
    call_hook(self, self->hooks->leave);
    call_hook(self, self->hooks->after_leave);

    call_hook(self, self->hooks->enter);
    is_over = g_source_is_destroyed(source);
    if (!is_over && sd_bus_has_ended(self->bus, r)) {
        call_hook(self, self->hooks->on_closed);
        is_over = TRUE;
    }
    call_hook(self, self->hooks->leave);
    return is_over ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
}

static void
sd_bus_source_finalize(GSource *source)
{
    SdBusSource *self = (SdBusSource *)source;

    call_hook(self, self->hooks->enter);
    g_clear_pointer(&self->bus, sd_bus_unref);
    call_hook(self, self->hooks->leave);
    if (self->data_free != NULL)
        self->data_free(self->data);
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
                     gpointer data,
                     GDestroyNotify data_free)
{
    GSource *source = g_source_new(&sd_bus_source_funcs, sizeof(SdBusSource));
    SdBusSource *self = (SdBusSource *)source;

    g_source_set_static_name(source, "sd-bus");
    /* `after_leave` may run a main loop. Besides, for a source that can't recurse GLib removes the
     * fd from the poll set and adds it again at each dispatch. */
    g_source_set_can_recurse(source, TRUE);
    self->bus = sd_bus_ref(bus);
    self->hooks = hooks;
    self->data = data;
    self->data_free = data_free;
    self->waits_for = G_IO_IN;
    self->fd_tag = g_source_add_unix_fd(source, sd_bus_get_fd(bus), self->waits_for);
    g_source_attach(source, context);
    return source;
}
