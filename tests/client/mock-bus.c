/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/client/mock-bus.h"

#include <gio/gunixfdlist.h>
#include <glib/gstdio.h>

#include "tests/client/fixture.h"

struct MockBus {
    char *directory;
    GDBusServer *server;
    GDBusConnection *peer;
    guint filter;
    GAsyncQueue *incoming; /* of GDBusMessage; from GDBus's thread */
    GQueue calls;          /* of GDBusMessage; to the service, not expected yet */
    char *owner;
    gboolean ignores_hello;
    gboolean refuses_hello;
};

/* ---- sending */

static void
send(MockBus *self, GDBusMessage *message, const char *sender)
{
    g_autoptr(GError) error = NULL;

    g_dbus_message_set_sender(message, sender);
    g_dbus_message_set_destination(message, MOCK_CLIENT);
    g_dbus_connection_send_message(self->peer, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL,
                                   &error);
    /* A client may leave when it likes. */
    if (!g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CLOSED))
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
mock_answer(MockBus *self, GDBusMessage *call, const char *sender, const char *body)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new_method_reply(call);

    g_dbus_message_set_body(reply, parse(body));
    send(self, reply, sender);
}

void
mock_answer_error(MockBus *self, GDBusMessage *call, const char *sender, const char *name)
{
    g_autoptr(GDBusMessage) reply =
        g_dbus_message_new_method_error_literal(call, name, "as the script says");

    send(self, reply, sender);
}

void
mock_answer_fd(MockBus *self, GDBusMessage *call, const char *sender, int fd)
{
    g_autoptr(GDBusMessage) reply = g_dbus_message_new_method_reply(call);
    g_autoptr(GUnixFDList) fds = g_unix_fd_list_new_from_array(&fd, 1);

    g_dbus_message_set_body(reply, g_variant_new("(h)", 0));
    g_dbus_message_set_unix_fd_list(reply, fds);
    send(self, reply, sender);
    mock_flush(self); /* the other end tells who else has the descriptor */
}

void
mock_signal(
    MockBus *self, GDBusMessage *call, const char *sender, const char *member, const char *body)
{
    g_autoptr(GDBusMessage) signal =
        g_dbus_message_new_signal(g_dbus_message_get_path(call), "org.w3.WebLocks", member);

    g_dbus_message_set_body(signal, parse(body));
    send(self, signal, sender);
}

void
mock_name_owner_changed(MockBus *self, const char *sender, const char *owner)
{
    g_autoptr(GDBusMessage) signal =
        g_dbus_message_new_signal("/org/freedesktop/DBus", MOCK_BUS, "NameOwnerChanged");

    g_dbus_message_set_body(signal, g_variant_new("(sss)", "org.w3.WebLocks",
                                                  self->owner != NULL ? self->owner : "",
                                                  owner != NULL ? owner : ""));
    if (g_str_equal(sender, MOCK_BUS)) {
        g_free(self->owner);
        self->owner = g_strdup(owner);
    }
    send(self, signal, sender);
}

/* ---- taking in */

static void
answer_bus_call(MockBus *self, GDBusMessage *call)
{
    const char *member = g_dbus_message_get_member(call);
    g_autofree char *body = NULL;

    if (g_str_equal(member, "Hello")) {
        if (self->refuses_hello)
            mock_answer_error(self, call, MOCK_BUS, "org.freedesktop.DBus.Error.LimitsExceeded");
        else if (!self->ignores_hello)
            mock_answer(self, call, MOCK_BUS, "('" MOCK_CLIENT "',)");
    } else if (g_str_equal(member, "GetNameOwner")) {
        if (self->owner == NULL) {
            mock_answer_error(self, call, MOCK_BUS, "org.freedesktop.DBus.Error.NameHasNoOwner");
            return;
        }
        body = g_strdup_printf("('%s',)", self->owner);
        mock_answer(self, call, MOCK_BUS, body);
    }
    /* AddMatch wants no answer. */
}

static gboolean
take_in(gpointer data)
{
    MockBus *self = data;
    GDBusMessage *message;

    while ((message = g_async_queue_try_pop(self->incoming)) != NULL) {
        if (g_strcmp0(g_dbus_message_get_destination(message), MOCK_BUS) == 0) {
            answer_bus_call(self, message);
            g_object_unref(message);
        } else {
            g_queue_push_tail(&self->calls, message);
        }
    }
    return G_SOURCE_REMOVE;
}

/* In GDBus's thread. */
static GDBusMessage *
on_message(GDBusConnection *peer, GDBusMessage *message, gboolean incoming, gpointer data)
{
    MockBus *self = data;

    if (!incoming)
        return message;
    g_async_queue_push(self->incoming, message);
    g_idle_add_full(G_PRIORITY_DEFAULT, take_in, self, NULL);
    return NULL;
}

static gboolean
on_peer(GDBusServer *server, GDBusConnection *peer, gpointer data)
{
    MockBus *self = data;

    g_assert_null(self->peer);
    self->peer = g_object_ref(peer);
    self->filter = g_dbus_connection_add_filter(peer, on_message, self, NULL);
    return TRUE;
}

static gboolean
has_call(gpointer data)
{
    MockBus *self = data;

    return !g_queue_is_empty(&self->calls);
}

GDBusMessage *
mock_expect_any(MockBus *self)
{
    test_wait_for(has_call, self, "a call");
    return g_queue_pop_head(&self->calls);
}

gboolean
mock_is_connected(gpointer mock_bus)
{
    const MockBus *self = mock_bus;

    return self->peer != NULL;
}

gboolean
mock_is_left(gpointer mock_bus)
{
    const MockBus *self = mock_bus;

    return g_dbus_connection_is_closed(self->peer);
}

GDBusMessage *
mock_expect(MockBus *self, const char *member)
{
    GDBusMessage *call;

    test_wait_for(has_call, self, member);
    call = g_queue_pop_head(&self->calls);
    g_assert_cmpstr(g_dbus_message_get_member(call), ==, member);
    return call;
}

guint
mock_count(MockBus *self)
{
    return self->calls.length;
}

void
mock_expect_end(MockBus *self)
{
    test_wait(mock_is_left, self);
    test_iterate();
    for (GList *l = self->calls.head; l != NULL; l = l->next)
        g_assert_cmpstr(g_dbus_message_get_member(l->data), ==, NULL);
}

guint64
mock_get_id(GDBusMessage *call)
{
    g_autoptr(GVariant) id = g_variant_get_child_value(g_dbus_message_get_body(call), 0);

    return g_variant_get_uint64(id);
}

GVariant *
mock_get_option(GDBusMessage *call, const char *key)
{
    g_autoptr(GVariant) options = g_variant_get_child_value(g_dbus_message_get_body(call), 1);

    return g_variant_lookup_value(options, key, NULL);
}

/* ---- life */

MockBus *
mock_bus_new(const char *owner)
{
    MockBus *self = g_new0(MockBus, 1);
    g_autoptr(GError) error = NULL;
    g_autofree char *guid = g_dbus_generate_guid();
    g_autofree char *address = NULL;

    self->incoming = g_async_queue_new_full(g_object_unref);
    self->owner = g_strdup(owner);
    self->directory = g_dir_make_tmp("weblocks-mock-XXXXXX", &error);
    g_assert_no_error(error);
    address = g_strdup_printf("unix:path=%s/bus", self->directory);
    self->server =
        g_dbus_server_new_sync(address, G_DBUS_SERVER_FLAGS_NONE, guid, NULL, NULL, &error);
    g_assert_no_error(error);
    g_signal_connect(self->server, "new-connection", G_CALLBACK(on_peer), self);
    g_dbus_server_start(self->server);
    return self;
}

const char *
mock_bus_get_address(const MockBus *self)
{
    return g_dbus_server_get_client_address(self->server);
}

void
mock_bus_refuse_hello(MockBus *self)
{
    self->refuses_hello = TRUE;
}

void
mock_bus_ignore_hello(MockBus *self)
{
    self->ignores_hello = TRUE;
}

void
mock_flush(MockBus *self)
{
    g_autoptr(GError) error = NULL;

    g_dbus_connection_flush_sync(self->peer, NULL, &error);
    g_assert_no_error(error);
}

void
mock_bus_cut(MockBus *self)
{
    g_autoptr(GError) error = NULL;

    mock_flush(self);
    g_dbus_connection_close_sync(self->peer, NULL, &error);
    g_assert_no_error(error);
}

void
mock_bus_free(MockBus *self)
{
    if (self->peer != NULL) {
        g_dbus_connection_remove_filter(self->peer, self->filter);
        if (!g_dbus_connection_is_closed(self->peer))
            g_dbus_connection_close_sync(self->peer, NULL, NULL);
    }
    g_dbus_server_stop(self->server);
    test_iterate(); /* its sources of this bus */
    while (g_source_remove_by_user_data(self))
        ;
    g_clear_object(&self->peer);
    g_object_unref(self->server);
    g_queue_clear_full(&self->calls, g_object_unref);
    g_async_queue_unref(self->incoming);
    g_rmdir(self->directory);
    g_free(self->directory);
    g_free(self->owner);
    g_free(self);
}
