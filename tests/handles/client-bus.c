/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* In place of client-lib/engine/bus.c: calls of OpenSocket go to sim.h. The service's name has an
 * owner at any time, and no signal comes. */

#include "tests/handles/client-bus.h"

#include <unistd.h>

#include "client-lib/engine/bus.h"
#include "client-lib/manager-private.h"
#include "common/bus-names.h"
#include "common/packet.h"
#include "tests/handles/sim.h"

struct Bus {
    Session *session;
    const BusFuncs *funcs;
    gpointer data;
    guint client;
    gboolean is_connected;
    SessionDescriptor descriptor;
    BusCall *call;     /* unanswered */
    guint n_forgotten; /* calls before it whose replies have not come */
};

struct BusCall {
    Bus *bus;
    BusAnswered answered;
    gpointer data;
};

static GDBusMessage *
make_message(const SimReply *reply)
{
    GDBusMessage *message = g_dbus_message_new();
    g_autoptr(GUnixFDList) fds = g_unix_fd_list_new();
    GVariantBuilder parameters;

    g_variant_builder_init(&parameters, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&parameters, "{sv}", BUS_PARAMETER_VERSION,
                          g_variant_new_uint32(PACKET_VERSION));
    g_variant_builder_add(&parameters, "{sv}", BUS_PARAMETER_MAX_PACKET,
                          g_variant_new_uint32(PACKET_BYTES_MAX));
    g_assert_cmpint(g_unix_fd_list_append(fds, reply->fd, NULL), ==, 0);
    if (reply->page_fd >= 0)
        g_variant_builder_add(
            &parameters, "{sv}", BUS_PARAMETER_CELLS,
            g_variant_new_handle(g_unix_fd_list_append(fds, reply->page_fd, NULL)));
    g_dbus_message_set_body(message, g_variant_new("(ha{sv})", 0, &parameters));
    g_dbus_message_set_unix_fd_list(message, fds);
    return message;
}

static void
on_reply(gpointer data, short revents)
{
    Bus *self = data;
    const SimReply reply = sim_take_reply(self->client);
    BusCall *call = NULL;
    g_autoptr(GError) error = NULL;
    g_autoptr(GDBusMessage) message = NULL;

    self->funcs->arriving(self->data); /* which may forget the call */
    if (self->n_forgotten > 0)
        self->n_forgotten--;
    else
        call = g_steal_pointer(&self->call);
    if (reply.is_unanswered) {
        error = g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE, "no reply");
    } else {
        message = make_message(&reply);
        close(reply.fd);
        if (reply.page_fd >= 0)
            close(reply.page_fd);
    }
    if (call == NULL && message != NULL) {
        sim_drop_socket(self->client); /* with the message */
    } else if (call != NULL) {
        call->answered(error != NULL ? BUS_UNANSWERED : BUS_ANSWERED, message, error, call->data);
    }
    g_free(call);
}

Bus *
bus_new(
    Session *session, GBusType bus_type, const char *address, const BusFuncs *funcs, gpointer data)
{
    Bus *self = g_new0(Bus, 1);

    self->session = session;
    self->funcs = funcs;
    self->data = data;
    self->client = (guint)(address[0] - 'A');
    self->descriptor =
        (SessionDescriptor){sim_get_bus_fd(self->client), POLLIN, on_reply, self, NULL};
    return self;
}

void
bus_free(Bus *self)
{
    g_free(self);
}

gboolean
bus_connect(Bus *self, GError **error)
{
    if (!self->is_connected) {
        self->is_connected = TRUE;
        session_add_descriptor(self->session, &self->descriptor);
        self->funcs->connected(self->data);
    }
    return TRUE;
}

void
bus_close(Bus *self, const GError *error)
{
    if (self->is_connected)
        session_remove_descriptor(self->session, &self->descriptor);
    self->is_connected = FALSE;
}

gboolean
bus_is_connected(const Bus *self)
{
    return self->is_connected;
}

gboolean
bus_is_opened(const Bus *self)
{
    return self->is_connected;
}

const char *
bus_get_unique_name(const Bus *self)
{
    return self->client == 0 ? ":1.A" : ":1.B";
}

const char *
bus_get_owner(const Bus *self)
{
    return ":1.0";
}

BusCall *
bus_call(
    Bus *self, const BusMessage *message, gint64 timeout_us, BusAnswered answered, gpointer data)
{
    g_autoptr(GVariant) body = g_variant_ref_sink(message->body);
    g_autoptr(GVariant) options = g_variant_get_child_value(body, 0);
    guint32 version = 0;

    g_assert_cmpstr(message->method, ==, "OpenSocket");
    g_assert_null(self->call);
    g_assert_true(g_variant_lookup(options, BUS_OPTION_VERSION, "u", &version));
    self->call = g_new0(BusCall, 1);
    *self->call = (BusCall){self, answered, data};
    sim_call(self->client,
             version < PACKET_VERSION ? BUS_CALL_OPEN_SOCKET_WITHOUT_CELLS : BUS_CALL_OPEN_SOCKET);
    return self->call;
}

void
bus_call_forget(BusCall *call)
{
    call->bus->call = NULL;
    call->bus->n_forgotten++;
    g_free(call);
}

/* ---- */

void
client_bus_share_cells(WebLocksManager *manager)
{
    Connection *connection = web_locks_manager_get_connection(manager);

    session_enter(connection_get_session(connection));
    connection_share_cells(connection);
    session_leave(connection_get_session(connection));
}

void
client_bus_catch_up(WebLocksManager *manager)
{
    Session *session = connection_get_session(web_locks_manager_get_connection(manager));

    session_enter(session);
    session_catch_up(session);
    session_leave(session);
}

void
client_bus_wait(WebLocksManager *manager)
{
    Session *session = connection_get_session(web_locks_manager_get_connection(manager));
    SessionWaiter waiter = {.is_over = FALSE};

    session_enter(session);
    session_wait_once(session, &waiter);
    session_leave(session);
}
