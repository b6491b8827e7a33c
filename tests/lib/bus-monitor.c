/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/lib/bus-monitor.h"

#include "common/bus-names.h"

/* Its own message, which shows how far the monitor has read. */
#define MARK_INTERFACE "org.example.Test.Mark"
#define WAIT_SECONDS   60

struct BusMonitor {
    GDBusConnection *connection;
    guint filter;
    GMutex mutex;
    GCond marked;
    gboolean is_marked;
    char *broadcast; /* the first one, as text */
};

static void
look_at_signal(BusMonitor *self, GDBusMessage *message)
{
    if (g_strcmp0(g_dbus_message_get_interface(message), MARK_INTERFACE) == 0) {
        self->is_marked = TRUE;
        g_cond_signal(&self->marked);
    } else if (g_dbus_message_get_destination(message) == NULL &&
               g_strcmp0(g_dbus_message_get_sender(message), BUS_DRIVER_NAME) != 0 &&
               self->broadcast == NULL) {
        self->broadcast = g_dbus_message_print(message, 0);
    }
}

/* Runs in GDBus's thread. It withholds all messages from GDBus, which would reply to some, except
 * for the program's own message. */
static GDBusMessage *
on_message(GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer data)
{
    BusMonitor *self = data;
    GDBusMessageType type = g_dbus_message_get_message_type(message);

    if (!incoming || (type == G_DBUS_MESSAGE_TYPE_METHOD_RETURN &&
                      g_strcmp0(g_dbus_message_get_destination(message),
                                g_dbus_connection_get_unique_name(connection)) == 0))
        return message;
    if (type == G_DBUS_MESSAGE_TYPE_SIGNAL) {
        g_mutex_lock(&self->mutex);
        look_at_signal(self, message);
        g_mutex_unlock(&self->mutex);
    }
    g_object_unref(message);
    return NULL;
}

/* Called when the filter has been removed, and does not run any more. */
static void
bus_monitor_destroy(gpointer data)
{
    BusMonitor *self = data;

    g_mutex_clear(&self->mutex);
    g_cond_clear(&self->marked);
    g_free(self->broadcast);
    g_free(self);
}

BusMonitor *
bus_monitor_new(GDBusConnection *connection)
{
    BusMonitor *self = g_new0(BusMonitor, 1);
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) reply = NULL;

    self->connection = connection;
    g_mutex_init(&self->mutex);
    g_cond_init(&self->marked);
    self->filter = g_dbus_connection_add_filter(connection, on_message, self, bus_monitor_destroy);
    reply = g_dbus_connection_call_sync(connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                                        "org.freedesktop.DBus.Monitoring", "BecomeMonitor",
                                        g_variant_new("(asu)", NULL, 0), NULL,
                                        G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
    g_assert_no_error(error);
    g_assert_nonnull(reply);
    return self;
}

/* Waits until the monitor has read this far, one of the connections is closed, or the time limit
 * has passed. */
static void
wait_for_mark(BusMonitor *self, GDBusConnection *other)
{
    gint64 deadline = g_get_monotonic_time() + WAIT_SECONDS * G_TIME_SPAN_SECOND;
    gboolean is_alive = TRUE;

    g_mutex_lock(&self->mutex);
    while (!self->is_marked && is_alive) {
        g_cond_wait_until(&self->marked, &self->mutex,
                          g_get_monotonic_time() + 10 * G_TIME_SPAN_MILLISECOND);
        is_alive =
            !g_dbus_connection_is_closed(self->connection) && !g_dbus_connection_is_closed(other);
        if (g_get_monotonic_time() > deadline)
            g_error("The monitor does not see what it is sent");
    }
    g_mutex_unlock(&self->mutex);
}

void
bus_monitor_free(BusMonitor *self, GDBusConnection *other)
{
    g_autoptr(GDBusConnection) connection = self->connection;

    if (g_dbus_connection_emit_signal(other, NULL, "/", MARK_INTERFACE, "Mark", NULL, NULL))
        wait_for_mark(self, other);
    g_mutex_lock(&self->mutex);
    if (self->broadcast != NULL)
        g_error("A broadcast:\n%s", self->broadcast);
    g_mutex_unlock(&self->mutex);
    g_dbus_connection_close_sync(connection, NULL, NULL);
    g_dbus_connection_remove_filter(connection, self->filter);
}
