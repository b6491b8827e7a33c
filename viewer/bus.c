/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus.h"

#include <glib/gi18n.h>

#define SERVICE_NAME "org.w3.WebLocks"

struct _ViewerBus {
    GObject parent_instance;
    GBusType type;
    ViewerBusState state;
    char *reason;
    GCancellable *cancellable; /* ends what is under way of this attempt */
    GDBusConnection *connection;
    WebLocksAgent *agent;
    WebLocksMonitor *monitor;
    guint name_watch;
};

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
    g_clear_handle_id(&self->name_watch, g_bus_unwatch_name);
    if (self->connection != NULL)
        g_signal_handlers_disconnect_by_data(self->connection, self);
    g_clear_object(&self->monitor);
    g_clear_object(&self->agent);
    g_clear_object(&self->connection);
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

/* ---- the service's name */

/* The first monitor starts the service. */
static void
on_name_appeared(GDBusConnection *connection, const char *name, const char *owner, gpointer data)
{
    ViewerBus *self = data;

    if (self->monitor != NULL)
        set_state(self, VIEWER_BUS_READY, NULL);
    else if (self->state == VIEWER_BUS_NO_SERVICE)
        begin_monitor(self);
}

static void
on_name_vanished(GDBusConnection *connection, const char *name, gpointer data)
{
    ViewerBus *self = data;

    if (self->monitor != NULL)
        set_state(self, VIEWER_BUS_RESTARTING, NULL);
}

/* ---- the bus */

static void
on_closed(ViewerBus *self)
{
    disconnect(self);
    set_state(self, VIEWER_BUS_NO_BUS, _("The bus has closed the connection."));
}

static void
on_connected(GObject *source, GAsyncResult *result, gpointer data)
{
    ViewerBus *self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(GDBusConnection) connection =
        g_dbus_connection_new_for_address_finish(result, &error);

    if (is_cancelled(error))
        return;
    if (connection != NULL)
        self->agent = web_locks_agent_new_for_connection(connection, &error);
    if (error != NULL) {
        set_state(self, VIEWER_BUS_NO_BUS, error->message);
        return;
    }
    g_set_object(&self->connection, connection);
    g_signal_connect_swapped(connection, "closed", G_CALLBACK(on_closed), self);
    begin_monitor(self);
    self->name_watch =
        g_bus_watch_name_on_connection(connection, SERVICE_NAME, G_BUS_NAME_WATCHER_FLAGS_NONE,
                                       on_name_appeared, on_name_vanished, self, NULL);
}

/* A connection of its own: the one that g_bus_get() shares can't be opened again. */
void
viewer_bus_connect(ViewerBus *self)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *address = g_dbus_address_get_for_bus_sync(self->type, NULL, &error);

    disconnect(self);
    self->cancellable = g_cancellable_new();
    if (address == NULL) {
        set_state(self, VIEWER_BUS_NO_BUS, error->message);
        return;
    }
    set_state(self, VIEWER_BUS_CONNECTING, NULL);
    g_dbus_connection_new_for_address(address,
                                      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                          G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                      NULL, self->cancellable, on_connected, self);
}

/* ---- what is known */

GBusType
viewer_bus_get_bus_type(ViewerBus *self)
{
    return self->type;
}

ViewerBusState
viewer_bus_get_state(ViewerBus *self)
{
    return self->state;
}

const char *
viewer_bus_get_reason(ViewerBus *self)
{
    return self->reason;
}

WebLocksMonitor *
viewer_bus_get_monitor(ViewerBus *self)
{
    return self->monitor;
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
