/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-source.h"

#include <poll.h>

#include "bus.h"
#include "lifecycle.h"

/* Bounds the time until timers and other sources are dispatched while messages keep arriving. */
#define BATCH_MESSAGES 32

typedef struct {
    GSource parent;
    Server *server;
    gpointer fd_tag;
    GIOCondition waits_for;
} BusSource;

static gboolean
may_read(const Server *server)
{
    return !bus_is_backed_up(server->bus) && !turn_is_full(&server->turn);
}

/* g_source_modify_unix_fd() wakes the context even from its own thread, so it is called only if
 * the condition changes. */
static void
wait_for(BusSource *self, int events)
{
    GIOCondition condition = (events & POLLIN ? G_IO_IN : 0) | (events & POLLOUT ? G_IO_OUT : 0);

    if (condition == self->waits_for)
        return;
    self->waits_for = condition;
    g_source_modify_unix_fd(&self->parent, self->fd_tag, condition);
}

/* Updates the poll condition, which may change with each message that is read or queued. */
static gboolean
bus_source_prepare(GSource *source, int *timeout_ms)
{
    BusSource *self = (BusSource *)source;
    sd_bus *bus = self->server->bus->connection;
    int events = sd_bus_get_events(bus);
    uint64_t ready_us;

    *timeout_ms = -1;
    if (events < 0 || sd_bus_get_timeout(bus, &ready_us) < 0)
        return TRUE; /* the connection is closed, which dispatch will detect */

    if (!may_read(self->server)) {
        wait_for(self, events & ~POLLIN);
        return FALSE;
    }
    wait_for(self, events);
    if (ready_us == 0)
        return TRUE; /* sd-bus has read messages that it has not processed */
    g_source_set_ready_time(source, ready_us == UINT64_MAX ? -1 : (gint64)ready_us);
    return FALSE;
}

/* sd_bus_process() is called at least once, even if nothing may be read, since it also writes. */
static gboolean
bus_source_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    Server *server = ((BusSource *)source)->server;
    sd_bus *bus = server->bus->connection;
    guint n_left = BATCH_MESSAGES;
    int r;

    do {
        r = sd_bus_process(bus, NULL);
    } while (r > 0 && --n_left > 0 && may_read(server));
    if ((r >= 0 || sd_bus_is_transient(r)) && sd_bus_is_open(bus) > 0)
        return G_SOURCE_CONTINUE;
    lifecycle_bus_lost(server);
    return G_SOURCE_REMOVE;
}

static GSourceFuncs bus_source_funcs = {
    .prepare = bus_source_prepare,
    .dispatch = bus_source_dispatch,
};

GSource *
bus_source_attach(Server *server)
{
    GSource *source = g_source_new(&bus_source_funcs, sizeof(BusSource));
    BusSource *self = (BusSource *)source;

    g_source_set_static_name(source, "bus");
    /* The source does not recurse; but without this GLib removes the descriptor from the poll set
     * and adds it again at each dispatch. */
    g_source_set_can_recurse(source, TRUE);
    self->server = server;
    self->waits_for = G_IO_IN;
    self->fd_tag =
        g_source_add_unix_fd(source, sd_bus_get_fd(server->bus->connection), self->waits_for);
    g_source_attach(source, NULL);
    return source;
}
