/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/bus.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "client-lib/engine/bus-stream.h"
#include "client-lib/error-private.h"
#include "common/bus-names.h"

#define OWNER_RULE                                                                \
    "type='signal',sender='" BUS_DRIVER_NAME "',interface='" BUS_DRIVER_INTERFACE \
    "',member='NameOwnerChanged',arg0='" BUS_SERVICE_NAME "'"

/* How much may be queued for the bus before method calls of other clients get no reply. */
#define REPLY_BYTES_MAX 65536

struct Bus {
    Session *session;
    GBusType bus_type;
    char *address;
    const BusFuncs *funcs;
    gpointer data;

    BusStream *stream; /* NULL: closed */
    gboolean is_connected;
    char *unique_name;
    char *owner;
    guint32 last_serial; /* on `stream` */
    GHashTable *calls;   /* serial -> BusCall */
};

struct BusCall {
    Bus *bus;
    guint32 serial;
    gboolean is_of_driver;
    SessionTimer timer;
    BusAnswered answered;
    void (*take)(const BusReply *reply, gpointer data);
    gpointer data;
};

/* ---- calls */

static void
call_finish(BusCall *call, BusOutcome outcome, GDBusMessage *reply, const GError *error)
{
    g_hash_table_remove(call->bus->calls, GUINT_TO_POINTER(call->serial));
    session_stop_timer(call->bus->session, &call->timer);
    if (call->answered != NULL)
        call->answered(outcome, reply, error, call->data);
    g_free(call);
}

static void
on_call_expired(gpointer data)
{
    BusCall *call = data;
    g_autoptr(GError) error =
        error_new_unavailable(call->is_of_driver ? _("the bus has not answered in time")
                                                 : _("it has not answered in time"));

    call_finish(call, BUS_TIMED_OUT, NULL, error);
}

void
bus_call_forget(BusCall *call)
{
    call->answered = NULL;
    call_finish(call, BUS_ENDED, NULL, NULL);
}

static void
send_message(Bus *self, GDBusMessage *message)
{
    g_dbus_message_set_serial(message, ++self->last_serial);
    bus_stream_send(self->stream, message);
}

/* `answered` is never called before this function returns. */
static BusCall *
send_call(Bus *self, GDBusMessage *message, gint64 timeout_us, BusAnswered answered, gpointer data)
{
    BusCall *call = g_new0(BusCall, 1);
    const gint64 now_us = g_get_monotonic_time();

    call->bus = self;
    call->answered = answered;
    call->data = data;
    call->timer.data = call;
    call->timer.expired = on_call_expired;
    send_message(self, message);
    call->serial = self->last_serial;
    g_hash_table_insert(self->calls, GUINT_TO_POINTER(call->serial), call);
    if (timeout_us > 0)
        session_start_timer(self->session, &call->timer, now_us + timeout_us);
    return call;
}

BusCall *
bus_call(
    Bus *self, const BusMessage *message, gint64 timeout_us, BusAnswered answered, gpointer data)
{
    g_autoptr(GDBusMessage) call = g_dbus_message_new_method_call(
        BUS_SERVICE_NAME, message->path, message->interface, message->method);
    BusCall *sent;

    if (message->body != NULL)
        g_dbus_message_set_body(call, message->body);
    g_dbus_message_set_unix_fd_list(call, message->descriptors);
    if (message->no_auto_start)
        g_dbus_message_set_flags(call, G_DBUS_MESSAGE_FLAGS_NO_AUTO_START);
    sent = send_call(self, call, timeout_us, answered, data);
    sent->take = message->take;
    return sent;
}

static void
call_driver(Bus *self, const char *method, const char *argument, BusAnswered answered)
{
    g_autoptr(GDBusMessage) message = g_dbus_message_new_method_call(
        BUS_DRIVER_NAME, BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE, method);

    if (argument != NULL)
        g_dbus_message_set_body(message, g_variant_new("(s)", argument));
    send_call(self, message, ANSWER_TIMEOUT_US, answered, self)->is_of_driver = TRUE;
}

/* ---- validation of the sender */

static gboolean
is_from(GDBusMessage *message, const char *name)
{
    return name != NULL && g_strcmp0(g_dbus_message_get_sender(message), name) == 0;
}

static BusOutcome
classify_error(Bus *self, GDBusMessage *reply)
{
    const char *name = g_dbus_message_get_error_name(reply);
    const gboolean is_of_bus = is_from(reply, BUS_DRIVER_NAME);

    if (!is_of_bus)
        return g_strcmp0(name, BUS_ERROR_INVALID_STATE) == 0 ? BUS_LEAVING : BUS_REFUSED;
    if (g_strcmp0(name, BUS_ERROR_NO_REPLY) == 0)
        return BUS_UNANSWERED;
    if (g_strcmp0(name, BUS_ERROR_SERVICE_UNKNOWN) == 0 ||
        g_strcmp0(name, BUS_ERROR_NAME_HAS_NO_OWNER) == 0)
        return BUS_ABSENT;
    return BUS_REFUSED;
}

static GError *
error_of_reply(GDBusMessage *reply)
{
    GVariant *body = g_dbus_message_get_body(reply);
    const char *text = NULL;

    if (body != NULL && g_variant_is_of_type(body, G_VARIANT_TYPE("(s)")))
        g_variant_get(body, "(&s)", &text);
    return error_new_from_dbus(g_dbus_message_get_error_name(reply), text);
}

static void
take_answer(BusCall *call, GDBusMessage *reply)
{
    Bus *self = call->bus;
    g_autoptr(GError) error = NULL;

    if (!is_from(reply, BUS_DRIVER_NAME) && (call->is_of_driver || !is_from(reply, self->owner))) {
        error = error_new_unavailable(_("the reply did not come from the lock service"));
        call_finish(call, BUS_UNANSWERED, NULL, error);
        return;
    }
    if (g_dbus_message_get_message_type(reply) == G_DBUS_MESSAGE_TYPE_METHOD_RETURN) {
        call_finish(call, BUS_ANSWERED, reply, NULL);
        return;
    }
    error = error_of_reply(reply);
    call_finish(call, classify_error(self, reply), NULL, error);
}

/* ---- incoming messages */

static void
set_owner(Bus *self, const char *owner)
{
    if (g_strcmp0(owner, self->owner) == 0)
        return;
    g_free(self->owner);
    self->owner = g_strdup(owner);
    if (self->is_connected)
        self->funcs->owner_changed(self->data);
}

static void
take_owner_changed(Bus *self, GDBusMessage *signal)
{
    GVariant *body = g_dbus_message_get_body(signal);
    const char *name, *old_owner, *new_owner;

    if (body == NULL || !g_variant_is_of_type(body, G_VARIANT_TYPE("(sss)")))
        return;
    g_variant_get(body, "(&s&s&s)", &name, &old_owner, &new_owner);
    if (g_str_equal(name, BUS_SERVICE_NAME))
        set_owner(self, new_owner[0] != '\0' ? new_owner : NULL);
}

static gboolean
is_owner_changed(GDBusMessage *signal)
{
    return is_from(signal, BUS_DRIVER_NAME) &&
           g_strcmp0(g_dbus_message_get_member(signal), "NameOwnerChanged") == 0;
}

static gboolean
is_lock_signal(GDBusMessage *signal)
{
    return g_strcmp0(g_dbus_message_get_interface(signal), BUS_LOCKS_INTERFACE) == 0;
}

static void
take_signal(Bus *self, GDBusMessage *signal)
{
    if (is_owner_changed(signal)) {
        take_owner_changed(self, signal);
    } else if (is_lock_signal(signal) && is_from(signal, self->owner)) {
        self->funcs->signal(signal, self->data);
    }
}

/* Whether a reply is expected, and has a valid serial and destination. */
static gboolean
can_reply(GDBusMessage *call)
{
    const char *sender = g_dbus_message_get_sender(call);

    return (g_dbus_message_get_flags(call) & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED) == 0 &&
           g_dbus_message_get_serial(call) != 0 && sender != NULL && g_dbus_is_name(sender);
}

/* Replies to org.freedesktop.DBus.Peer.Ping; all other method calls get an error. While the bus
 * does not read the replies, further calls get none. */
static void
take_call(Bus *self, GDBusMessage *call)
{
    g_autoptr(GDBusMessage) reply = NULL;

    if (!can_reply(call) || bus_stream_get_queue_bytes(self->stream) > REPLY_BYTES_MAX)
        return;
    if (g_strcmp0(g_dbus_message_get_member(call), "Ping") == 0)
        reply = g_dbus_message_new_method_reply(call);
    else
        reply = g_dbus_message_new_method_error_literal(call, BUS_ERROR_UNKNOWN_METHOD,
                                                        "this connection has no objects");
    send_message(self, reply);
}

static BusCall *
find_call(Bus *self, GDBusMessage *reply)
{
    return g_hash_table_lookup(self->calls,
                               GUINT_TO_POINTER(g_dbus_message_get_reply_serial(reply)));
}

/* Messages on the lock socket, including EOF, are handled first (funcs.arriving). This may end the
 * connection and all calls. */
static void
on_message(GDBusMessage *message, gpointer data)
{
    Bus *self = data;
    BusCall *call;

    if (self->is_connected)
        self->funcs->arriving(self->data);
    if (self->stream == NULL)
        return;
    switch (g_dbus_message_get_message_type(message)) {
    case G_DBUS_MESSAGE_TYPE_METHOD_RETURN:
    case G_DBUS_MESSAGE_TYPE_ERROR:
        call = find_call(self, message);
        if (call != NULL)
            take_answer(call, message);
        break;
    case G_DBUS_MESSAGE_TYPE_SIGNAL:
        take_signal(self, message);
        break;
    case G_DBUS_MESSAGE_TYPE_METHOD_CALL:
        take_call(self, message);
        break;
    case G_DBUS_MESSAGE_TYPE_INVALID:
    default:
        break;
    }
}

/* Returns FALSE for unusual replies, which on_message() handles. */
static gboolean
on_reply(const BusReply *reply, gpointer data)
{
    Bus *self = data;
    BusCall *call;

    if (self->is_connected)
        self->funcs->arriving(self->data);
    call = g_hash_table_lookup(self->calls, GUINT_TO_POINTER(reply->reply_serial));
    if (call == NULL || call->take == NULL || g_strcmp0(reply->sender, self->owner) != 0)
        return FALSE;
    call->take(reply, call->data);
    call->answered = NULL;
    call_finish(call, BUS_ANSWERED, NULL, NULL);
    return TRUE;
}

/* ---- the end */

static void
finish_calls(Bus *self, const GError *error)
{
    GHashTableIter iter;
    gpointer call;

    for (;;) {
        g_hash_table_iter_init(&iter, self->calls);
        if (!g_hash_table_iter_next(&iter, NULL, &call))
            return;
        call_finish(call, BUS_ENDED, NULL, error);
    }
}

void
bus_close(Bus *self, const GError *error)
{
    self->is_connected = FALSE;
    g_clear_pointer(&self->owner, g_free);
    g_clear_pointer(&self->stream, bus_stream_free);
    finish_calls(self, error);
}

static void
end(Bus *self, const GError *error)
{
    bus_close(self, error);
    self->funcs->ended(error, self->data);
}

static void
on_stream_ended(const GError *error, gpointer data)
{
    Bus *self = data;
    g_autoptr(GError) ended = error_new_unavailable(
        self->is_connected ? _("the connection to the bus ended") : error->message);

    end(self, ended);
}

/* ---- connecting */

/* If a call to the bus driver fails, the connection fails. */
static gboolean
check_driver(Bus *self, BusOutcome outcome, const GError *error)
{
    if (outcome == BUS_ANSWERED)
        return TRUE;
    if (outcome != BUS_ENDED)
        end(self, error);
    return FALSE;
}

static void
on_hello(BusOutcome outcome, GDBusMessage *reply, const GError *error, gpointer data)
{
    Bus *self = data;
    GVariant *body = reply != NULL ? g_dbus_message_get_body(reply) : NULL;

    if (!check_driver(self, outcome, error))
        return;
    g_clear_pointer(&self->unique_name, g_free);
    if (body != NULL && g_variant_is_of_type(body, G_VARIANT_TYPE("(s)")))
        g_variant_get(body, "(s)", &self->unique_name);
}

static void
on_match_added(BusOutcome outcome, GDBusMessage *reply, const GError *error, gpointer data)
{
    check_driver(data, outcome, error);
}

static void
on_name_owner(BusOutcome outcome, GDBusMessage *reply, const GError *error, gpointer data)
{
    Bus *self = data;
    GVariant *body = reply != NULL ? g_dbus_message_get_body(reply) : NULL;
    const char *owner;

    if (outcome == BUS_ENDED)
        return;
    if (body != NULL && g_variant_is_of_type(body, G_VARIANT_TYPE("(s)"))) {
        g_variant_get(body, "(&s)", &owner);
        set_owner(self, owner);
    }
    if (self->unique_name == NULL || self->is_connected)
        return;
    self->is_connected = TRUE;
    self->funcs->connected(self->data);
}

/* Subscribes first and then calls GetNameOwner, so that no change is missed in between. */
static void
follow_owner(Bus *self)
{
    call_driver(self, "AddMatch", OWNER_RULE, on_match_added);
    call_driver(self, "GetNameOwner", BUS_SERVICE_NAME, on_name_owner);
}

gboolean
bus_connect(Bus *self, GError **error)
{
    static const BusStreamFuncs stream_funcs = {on_message, on_reply, on_stream_ended};
    g_autoptr(GError) failure = NULL;
    GBusType bus_type = self->bus_type;

    if (self->stream != NULL)
        return TRUE;
    if (bus_type == G_BUS_TYPE_NONE)
        bus_type =
            g_getenv("DBUS_STARTER_BUS_TYPE") != NULL ? G_BUS_TYPE_STARTER : G_BUS_TYPE_SESSION;
    self->last_serial = 0;
    self->stream =
        bus_stream_new(self->session, bus_type, self->address, &stream_funcs, self, &failure);
    if (self->stream == NULL) {
        g_propagate_error(error, error_new_unavailable(failure->message));
        return FALSE;
    }
    /* The time-outs of these calls include the connecting. */
    call_driver(self, "Hello", NULL, on_hello);
    follow_owner(self);
    return TRUE;
}

/* ---- properties */

gboolean
bus_is_connected(const Bus *self)
{
    return self->is_connected;
}

gboolean
bus_is_opened(const Bus *self)
{
    return self->stream != NULL;
}

const char *
bus_get_unique_name(const Bus *self)
{
    return self->unique_name;
}

const char *
bus_get_owner(const Bus *self)
{
    return self->owner;
}

Bus *
bus_new(
    Session *session, GBusType bus_type, const char *address, const BusFuncs *funcs, gpointer data)
{
    Bus *self = g_new0(Bus, 1);

    self->session = session;
    self->bus_type = bus_type;
    self->address = g_strdup(address);
    self->funcs = funcs;
    self->data = data;
    self->calls = g_hash_table_new(NULL, NULL);
    return self;
}

void
bus_free(Bus *self)
{
    g_autoptr(GError) error = error_new_unavailable(_("the agent has ended"));

    bus_close(self, error);
    g_hash_table_unref(self->calls);
    g_free(self->unique_name);
    g_free(self->address);
    g_free(self);
}
