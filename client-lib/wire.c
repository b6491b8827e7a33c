/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/wire.h"

#include "client-lib/connection.h"
#include "common/sd-bus-source.h"

/* ---- the source */

/* What a source knows; it may outlive the connection, and so the wire. */
typedef struct {
    Gate *gate;
    Wire *wire;
    LoneResult lone;
} SourceData;

static void
source_enter(gpointer data)
{
    gate_enter(((SourceData *)data)->gate);
}

static void
source_leave(gpointer data)
{
    gate_leave(((SourceData *)data)->gate);
}

/* The source is not destroyed, so the connection is there. */
static void
source_closed(gpointer data)
{
    Wire *wire = ((SourceData *)data)->wire;
    Connection *connection = connection_ref(wire->connection);

    wire->ended(wire);
    connection_unref(connection);
}

static void
source_data_free(gpointer data)
{
    SourceData *source_data = data;

    gate_unref(source_data->gate);
    g_free(source_data);
}

/* A message may be the last thing that the connection lived for. */
static void
source_before_batch(gpointer data)
{
    SourceData *source_data = data;

    connection_begin_batch(connection_ref(source_data->wire->connection), &source_data->lone);
}

static void
source_after_batch(gpointer data)
{
    Connection *connection = ((SourceData *)data)->wire->connection;

    connection_end_batch(connection);
    connection_unref(connection);
}

/* The application may do what it likes in there: also run a main loop, and so come here again. */
static void
source_after_leave(gpointer data)
{
    SourceData *source_data = data;
    LoneResult lone = source_data->lone;

    if (lone.func == NULL)
        return;
    source_data->lone.func = NULL;
    lone.func(lone.data);
    lone.destroy(lone.data);
}

static const SdBusSourceHooks source_hooks = {
    .enter = source_enter,
    .leave = source_leave,
    .before_batch = source_before_batch,
    .after_batch = source_after_batch,
    .after_leave = source_after_leave,
    .on_closed = source_closed,
};

/* ---- life */

void
wire_open(Wire *self, Connection *connection, sd_bus *bus, void (*ended)(Wire *self))
{
    SourceData *source_data = g_new0(SourceData, 1);
    GMainContext *context = connection_get_context(connection);

    self->connection = connection;
    self->bus = bus;
    self->ended = ended;
    self->is_fresh = FALSE;
    self->fd = sd_bus_get_fd(bus);
    gate_guard_fd(self->fd);
    source_data->gate = gate_ref(connection_get_gate(connection));
    source_data->wire = self;
    source_data->lone.context = context;
    self->source = sd_bus_source_attach(bus, context, &source_hooks, source_data, source_data_free);
    connection_wires_changed(connection);
}

void
wire_close(Wire *self)
{
    if (self->bus == NULL)
        return;
    if (connection_is_of_this_process(self->connection))
        gate_unguard_fd(self->fd);
    g_source_destroy(self->source);
    g_clear_pointer(&self->source, g_source_unref);
    sd_bus_close(self->bus);
    g_clear_pointer(&self->bus, sd_bus_unref);
    connection_wires_changed(self->connection);
}

gboolean
wire_is_open(const Wire *self)
{
    return self->bus != NULL && sd_bus_is_open(self->bus) > 0;
}

/* ---- messages */

gboolean
wire_process(Wire *self)
{
    int r;

    /* From within a message of its own sd-bus refuses, and that is no end of it: whoever gave us
     * that message goes on with the next. */
    if (self->bus == NULL || sd_bus_get_current_message(self->bus) != NULL)
        return FALSE;
    r = sd_bus_process(self->bus, NULL);
    if (self->bus == NULL || r > 0)
        return TRUE;
    self->is_fresh = FALSE;
    if (!sd_bus_has_ended(self->bus, r))
        return FALSE;
    self->ended(self);
    return TRUE;
}

void
wire_be_fresh(Wire *self)
{
    self->is_fresh = TRUE;
}

void
wire_read_on(Wire *self)
{
    while (self->bus != NULL && self->is_fresh && wire_process(self))
        ;
}

gboolean
wire_is_writing(const Wire *self)
{
    int events = self->bus != NULL ? sd_bus_get_events(self->bus) : 0;

    return events > 0 && (events & POLLOUT) != 0;
}

gboolean
wire_has_news(const Wire *self)
{
    uint64_t ready_us;

    return self->bus != NULL && (sd_bus_get_timeout(self->bus, &ready_us) < 0 ||
                                 ready_us != UINT64_MAX || wire_is_writing(self));
}

struct pollfd
wire_get_poll(const Wire *self, gint64 *until_us)
{
    struct pollfd wanted = {.fd = -1};
    uint64_t ready_us;
    int events;

    if (self->bus == NULL)
        return wanted;
    events = sd_bus_get_events(self->bus);
    if (events < 0 || sd_bus_get_timeout(self->bus, &ready_us) < 0) {
        *until_us = 0; /* it has ended: to be found when it is processed */
        return wanted;
    }
    if (self->is_fresh)
        *until_us = 0;
    wanted.fd = self->fd;
    wanted.events = (short)events;
    if (ready_us < G_MAXINT64)
        *until_us = MIN(*until_us, (gint64)ready_us);
    return wanted;
}
