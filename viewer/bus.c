/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus.h"

#include <glib/gi18n.h>

G_DEFINE_FINAL_TYPE(ViewerBus, viewer_bus, G_TYPE_OBJECT)

static guint changed_signal;

static void
set_state(ViewerBus *self, ViewerBusState state, const char *reason)
{
    self->state = state;
    g_free(self->reason);
    self->reason = g_strdup(reason != NULL ? reason : "");
    g_signal_emit(self, changed_signal, 0);
}

static void
disconnect(ViewerBus *self)
{
    g_cancellable_cancel(self->cancellable);
    g_clear_object(&self->cancellable);
    if (self->agent != NULL)
        g_signal_handlers_disconnect_by_data(self->agent, self);
    g_clear_object(&self->monitor);
    g_clear_object(&self->agent);
}

static gboolean
is_cancelled(const GError *error)
{
    return g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

/* ---- the monitor */

static void
on_monitor(GObject *source, GAsyncResult *result, gpointer data)
{
    ViewerBus *self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksMonitor) monitor = web_locks_monitor_new_all_finish(result, &error);

    if (is_cancelled(error))
        return;
    if (monitor == NULL) {
        set_state(self, VIEWER_BUS_NO_SERVICE, error->message);
        return;
    }
    g_set_object(&self->monitor, monitor);
    set_state(self, VIEWER_BUS_READY, NULL);
}

static void
begin_monitor(ViewerBus *self)
{
    web_locks_monitor_new_all_async(self->agent, self->cancellable, on_monitor, self);
}

/* ---- the agent */

/* After a failed attempt, a service that has started is tried again. */
static void
on_agent_changed(ViewerBus *self)
{
    const gboolean is_running = web_locks_agent_get_service_running(self->agent);

    if (!web_locks_agent_get_connected(self->agent)) {
        disconnect(self);
        set_state(self, VIEWER_BUS_NO_BUS, _("The bus has closed the connection."));
    } else if (self->monitor != NULL) {
        set_state(self, is_running ? VIEWER_BUS_READY : VIEWER_BUS_RESTARTING, NULL);
    } else if (is_running && self->state == VIEWER_BUS_NO_SERVICE) {
        begin_monitor(self);
    }
}

static void
on_connected(GObject *source, GAsyncResult *result, gpointer data)
{
    ViewerBus *self = data;
    g_autoptr(GError) error = NULL;

    g_async_initable_init_finish(G_ASYNC_INITABLE(source), result, &error);
    if (is_cancelled(error))
        return;
    if (error != NULL) {
        set_state(self, VIEWER_BUS_NO_BUS, error->message);
        return;
    }
    g_signal_connect_swapped(source, "notify::connected", G_CALLBACK(on_agent_changed), self);
    g_signal_connect_swapped(source, "notify::service-running", G_CALLBACK(on_agent_changed), self);
    begin_monitor(self);
}

/* An agent of its own: an agent whose connection has ended does not connect again. */
void
viewer_bus_connect(ViewerBus *self)
{
    disconnect(self);
    self->cancellable = g_cancellable_new();
    self->agent = web_locks_agent_new(self->type, NULL);
    set_state(self, VIEWER_BUS_CONNECTING, NULL);
    g_async_initable_init_async(G_ASYNC_INITABLE(self->agent), G_PRIORITY_DEFAULT,
                                self->cancellable, on_connected, self);
}

/* ---- GObject */

ViewerBus *
viewer_bus_new(GBusType type)
{
    ViewerBus *self = g_object_new(VIEWER_TYPE_BUS, NULL);

    self->type = type;
    return self;
}

static void
viewer_bus_finalize(GObject *object)
{
    ViewerBus *self = VIEWER_BUS(object);

    disconnect(self);
    g_free(self->reason);
    G_OBJECT_CLASS(viewer_bus_parent_class)->finalize(object);
}

static void
viewer_bus_class_init(ViewerBusClass *class)
{
    G_OBJECT_CLASS(class)->finalize = viewer_bus_finalize;
    changed_signal = g_signal_new("changed", VIEWER_TYPE_BUS, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 0);
}

static void
viewer_bus_init(ViewerBus *self)
{
    self->reason = g_strdup("");
}
