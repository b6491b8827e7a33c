/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/mock-service.h"

#include <gio/gunixfdlist.h>

#include "common/bus-names.h"
#include "common/packet.h"

struct MockService {
    PrivateBus *bus;
    GDBusConnection *connection;
    guint filter;
    GAsyncQueue *calls;  /* of GDBusMessage; filled in GDBus's thread */
    GDBusMessage *first; /* returned by mock_service_peek() */
};

/* ---- receiving */

/* Called in GDBus's thread. */
static GDBusMessage *
on_message(GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer data)
{
    MockService *self = data;

    if (!incoming || g_dbus_message_get_message_type(message) != G_DBUS_MESSAGE_TYPE_METHOD_CALL)
        return message;
    g_async_queue_push(self->calls, message);
    g_main_context_wakeup(NULL);
    return NULL;
}

GDBusMessage *
mock_service_peek(MockService *self)
{
    if (self->first == NULL)
        self->first = g_async_queue_try_pop(self->calls);
    return self->first;
}

GDBusMessage *
mock_service_take(MockService *self)
{
    mock_service_peek(self);
    return g_steal_pointer(&self->first);
}

/* ---- sending */

/* Returns when the bus has received the message. */
static void
send(MockService *self, GDBusMessage *message)
{
    g_autoptr(GError) error = NULL;

    g_dbus_connection_send_message(self->connection, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL,
                                   &error);
    g_assert_no_error(error);
    g_dbus_connection_flush_sync(self->connection, NULL, &error);
    g_assert_no_error(error);
}

static GVariant *
parse(const char *text)
{
    g_autoptr(GError) error = NULL;
    GVariant *body = g_variant_parse(NULL, text, NULL, NULL, &error);

    g_assert_no_error(error);
    return body;
}

void
mock_service_reply(MockService *self, GDBusMessage *call, const char *body)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new_method_reply(call);
    g_autoptr(GVariant) parsed = parse(body);

    g_dbus_message_set_body(reply, parsed);
    send(self, reply);
}

void
mock_service_reply_error(MockService *self, GDBusMessage *call, const char *name)
{
    g_autoptr(GDBusMessage) reply =
        g_dbus_message_new_method_error_literal(call, name, "error of the script");

    send(self, reply);
}

void
mock_service_reply_socket(
    MockService *self, GDBusMessage *call, int fd, int handle, guint32 version)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new_method_reply(call);
    g_autoptr(GUnixFDList) fds = g_unix_fd_list_new_from_array(&fd, 1);

    g_dbus_message_set_body(reply,
                            g_variant_new_parsed("(%h, {'version': <%u>, 'maxPacket': <%u>})",
                                                 handle, version, PACKET_BYTES_MAX));
    g_dbus_message_set_unix_fd_list(reply, fds);
    send(self, reply);
}

void
mock_service_signal(MockService *self,
                    const char *destination,
                    const char *path,
                    const char *member,
                    const char *body)
{
    g_autoptr(GDBusMessage) signal = g_dbus_message_new_signal(
        path != NULL ? path : BUS_BUCKET_PREFIX "/bucket", BUS_LOCKS_INTERFACE, member);
    g_autoptr(GVariant) parsed = parse(body);

    g_dbus_message_set_destination(signal, destination);
    g_dbus_message_set_body(signal, parsed);
    send(self, signal);
}

/* ---- creation and end */

static gboolean
is_owner(gpointer data)
{
    const MockService *self = data;

    return g_strcmp0(self->bus->service_owner,
                     g_dbus_connection_get_unique_name(self->connection)) == 0;
}

static gboolean
is_not_owner(gpointer data)
{
    return !is_owner(data);
}

MockService *
mock_service_new(PrivateBus *bus)
{
    const guint32 allow_replacement = 1, replace = 2;
    MockService *self = g_new0(MockService, 1);
    g_autoptr(GVariant) reply = NULL;
    g_autoptr(GError) error = NULL;

    self->bus = bus;
    self->calls = g_async_queue_new_full(g_object_unref);
    self->connection = private_bus_connect(bus);
    self->filter = g_dbus_connection_add_filter(self->connection, on_message, self, NULL);
    reply = g_dbus_connection_call_sync(
        self->connection, BUS_DRIVER_NAME, BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE, "RequestName",
        g_variant_new("(su)", BUS_SERVICE_NAME, allow_replacement | replace), NULL,
        G_DBUS_CALL_FLAGS_NONE, -1, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(private_bus_wait(is_owner, self));
    return self;
}

void
mock_service_free(MockService *self)
{
    g_dbus_connection_remove_filter(self->connection, self->filter);
    g_dbus_connection_close_sync(self->connection, NULL, NULL);
    g_assert_true(private_bus_wait(is_not_owner, self));
    g_object_unref(self->connection);
    g_clear_object(&self->first);
    g_async_queue_unref(self->calls);
    g_free(self);
}
