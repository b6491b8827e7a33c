/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/connection.h"

#include <glib/gi18n-lib.h>
#include <string.h>

#include "client-lib/engine/process.h"
#include "client-lib/error-private.h"
#include "common/bus-names.h"

typedef enum {
    STATE_NEW, /* not connected yet */
    STATE_OPEN,
    STATE_CLOSED, /* by the application */
    STATE_GONE,   /* the bus connection has ended, or the service has terminated the agent */
} State;

struct Connection {
    Session *session; /* owned; its `unused` function frees the connection */
    int state;        /* a State; read atomically, written with the session lock held */
    char *client_id;  /* read atomically */
    Bus *bus;
    LockTable *table;
    MethodCalls *method_calls;

    GQueue subscriptions; /* of SignalSubscription */

    void (*changed)(Session *session, gpointer data); /* NULL: there is no creator any more */
    gpointer data;
    GDestroyNotify data_free;
};

/* ---- state */

static State
get_state(const Connection *self)
{
    return (State)g_atomic_int_get(&self->state);
}

Session *
connection_get_session(const Connection *self)
{
    return self->session;
}

GMainContext *
connection_get_context(const Connection *self)
{
    return session_get_context(self->session);
}

Cells *
connection_share_cells(Connection *self)
{
    Recovery *recovery = lock_table_get_recovery(self->table);

    recovery_want_cells(recovery);
    return recovery_get_cells(recovery);
}

const char *
connection_get_client_id(const Connection *self)
{
    return g_atomic_pointer_get(&((Connection *)self)->client_id);
}

static gboolean
is_open(const Connection *self)
{
    return get_state(self) == STATE_OPEN;
}

gboolean
connection_is_connected(Connection *self)
{
    State state;

    session_enter(self->session);
    if (is_open(self) && session_is_of_this_process(self->session))
        session_catch_up(self->session);
    state = get_state(self);
    session_leave(self->session);
    return state == STATE_OPEN;
}

gboolean
connection_check(const Connection *self, GError **error)
{
    const State state = get_state(self);

    if (!session_is_of_this_process(self->session)) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            _("the agent belongs to the parent process"));
        return FALSE;
    }
    if (state == STATE_CLOSED)
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            _("the agent is closed"));
    else if (state == STATE_GONE)
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                            _("the connection of the agent has ended"));
    return state != STATE_CLOSED && state != STATE_GONE;
}

gboolean
connection_is_served(Connection *self)
{
    gboolean is_served;

    session_enter(self->session);
    is_served = is_open(self) && bus_get_owner(self->bus) != NULL;
    session_leave(self->session);
    return is_served;
}

static void
notify_changed(Connection *self)
{
    if (self->changed != NULL)
        self->changed(self->session, self->data);
}

static void
set_state(Connection *self, State state)
{
    g_atomic_int_set(&self->state, (int)state);
    notify_changed(self);
}

static gboolean
is_of_all_buckets(const SignalSubscription *subscription)
{
    return strcmp(subscription->path, BUS_SERVICE_PATH) == 0;
}

/* `signal` and the resource name that it is about; NULL: it concerns all. */
static void
notify_subscribers(Connection *self, GDBusMessage *signal, const char *name)
{
    const char *path = signal != NULL ? g_dbus_message_get_path(signal) : NULL;

    for (GList *link = self->subscriptions.head; link != NULL; link = link->next) {
        const SignalSubscription *subscription = link->data;

        if (path != NULL && !is_of_all_buckets(subscription) &&
            strcmp(subscription->path, path) != 0)
            continue;
        if (name == NULL || subscription->name == NULL || strcmp(subscription->name, name) == 0)
            subscription->changed(signal, subscription->data);
    }
}

/* ---- requests and method calls */

void
connection_request(Connection *self,
                   GRefString *bucket,
                   const char *name,
                   const RequestOptions *options,
                   Caller caller)
{
    GError *error = NULL;

    session_enter(self->session);
    if (connection_check(self, &error))
        request_start(self->table, self->session, bucket, name, options, caller);
    else
        caller_fail(caller, self->session, error);
    session_leave(self->session);
}

void
connection_call(Connection *self, const MethodCallKind *kind, gpointer data, Caller caller)
{
    GError *error = NULL;

    session_enter(self->session);
    /* If the socket has ended, the call is sent after the next one was opened. */
    if (session_is_of_this_process(self->session))
        recovery_read(lock_table_get_recovery(self->table));
    if (connection_check(self, &error) && bus_connect(self->bus, &error))
        method_calls_start(self->method_calls, kind, data, caller);
    else
        method_call_refuse(kind, data, self->session, error, caller);
    session_leave(self->session);
}

void
connection_batch(Connection *self, void (*function)(gpointer data), gpointer data)
{
    session_enter(self->session);
    lock_table_begin_batch(self->table);
    session_leave(self->session);
    function(data);
    session_enter(self->session);
    if (session_is_of_this_process(self->session))
        lock_table_end_batch(self->table);
    session_leave(self->session);
}

void
connection_connect(Connection *self, Caller caller)
{
    static const MethodCallKind kind = {NULL};

    session_enter(self->session);
    connection_call(self, &kind, NULL, caller);
    if (session_is_of_this_process(self->session))
        recovery_prepare(lock_table_get_recovery(self->table));
    session_leave(self->session);
}

/* ---- the end */

/* Completes all pending operations. */
static void
finish_all(Connection *self, PacketReason reason, const GError *error)
{
    lock_table_finish(self->table, reason, error);
    method_calls_finish(self->method_calls, error);
}

static void
end(Connection *self, State state, PacketReason reason, const GError *error)
{
    set_state(self, state);
    recovery_close(lock_table_get_recovery(self->table));
    finish_all(self, reason, error);
    bus_close(self->bus, error);
    notify_subscribers(self, NULL, NULL);
}

/* The agent ends in the service when the bus reports the end of its connection. */
static void
close_connection(Connection *self)
{
    g_autoptr(GError) error =
        g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_CLOSED, _("the agent was closed"));

    end(self, STATE_CLOSED, PACKET_REASON_TERMINATED, error);
}

void
connection_close(Connection *self)
{
    if (!session_is_of_this_process(self->session))
        return;
    session_enter(self->session);
    if (get_state(self) != STATE_CLOSED)
        close_connection(self);
    session_leave(self->session);
}

/* ---- events of the bus and the lock table */

static void
on_bus_connected(gpointer data)
{
    Connection *self = data;

    if (self->client_id == NULL)
        g_atomic_pointer_set(&self->client_id, g_strdup(bus_get_unique_name(self->bus)));
    set_state(self, STATE_OPEN);
}

static void
on_owner_changed(gpointer data)
{
    Connection *self = data;

    recovery_owner_changed(lock_table_get_recovery(self->table));
    /* Calls of subscribers may be built again. */
    notify_subscribers(self, NULL, NULL);
    method_calls_owner_changed(self->method_calls);
    notify_changed(self);
}

static void
on_arriving(gpointer data)
{
    Connection *self = data;

    recovery_read(lock_table_get_recovery(self->table));
}

/* All signals have the resource name as second argument, except for Missed, which has only one. */
static void
on_signal(GDBusMessage *signal, gpointer data)
{
    GVariant *body = g_dbus_message_get_body(signal);
    g_autoptr(GVariant) name = NULL;

    if (body != NULL && g_variant_n_children(body) > 1)
        name = g_variant_get_child_value(body, 1);
    if (name != NULL && !g_variant_is_of_type(name, G_VARIANT_TYPE_STRING))
        g_clear_pointer(&name, g_variant_unref);
    notify_subscribers(data, signal, name != NULL ? g_variant_get_string(name, NULL) : NULL);
}

/* If it was never connected, the next operation tries again. */
static void
on_bus_ended(const GError *error, gpointer data)
{
    Connection *self = data;

    if (get_state(self) == STATE_OPEN) {
        end(self, STATE_GONE, PACKET_REASON_TERMINATED, error);
    } else if (get_state(self) == STATE_NEW) {
        recovery_close(lock_table_get_recovery(self->table));
        finish_all(self, PACKET_REASON_TERMINATED, error);
    }
}

static void
on_progress(gpointer data)
{
    Connection *self = data;

    lock_table_send(self->table);
    method_calls_try(self->method_calls);
}

static void
on_terminated(const GError *error, gpointer data)
{
    end(data, STATE_GONE, PACKET_REASON_LOST, error);
}

/* ---- signals of buckets */

void
connection_subscribe(Connection *self, SignalSubscription *subscription)
{
    subscription->link.data = subscription;
    g_queue_push_tail_link(&self->subscriptions, &subscription->link);
}

void
connection_unsubscribe(Connection *self, SignalSubscription *subscription, gboolean is_asked)
{
    g_queue_unlink(&self->subscriptions, &subscription->link);
    for (GList *link = self->subscriptions.head; link != NULL; link = link->next)
        if (strcmp(((SignalSubscription *)link->data)->path, subscription->path) == 0)
            return;
    if (is_asked && is_open(self)) {
        const BusMessage message = {subscription->path,
                                    is_of_all_buckets(subscription) ? BUS_SERVICE_INTERFACE
                                                                    : BUS_LOCKS_INTERFACE,
                                    "Watch", g_variant_new("(b)", FALSE)};

        bus_call(self->bus, &message, ANSWER_TIMEOUT_US, NULL, NULL);
    }
}

/* ---- life */

/* There are no users any more, so no locks are held. */
static void
on_unused(gpointer data)
{
    Connection *self = data;
    Session *session = self->session;

    self->changed = NULL;
    if (get_state(self) != STATE_CLOSED)
        close_connection(self);
    self->data_free(self->data);
    method_calls_free(self->method_calls);
    lock_table_free(self->table);
    bus_free(self->bus);
    session_close(session);
    g_free(self->client_id);
    g_free(self);
    session_unref(session);
}

Connection *
connection_new(GBusType bus_type,
               const char *address,
               void (*changed)(Session *session, gpointer data),
               gpointer data,
               GDestroyNotify data_free)
{
    static const BusFuncs bus_funcs = {
        .connected = on_bus_connected,
        .owner_changed = on_owner_changed,
        .arriving = on_arriving,
        .signal = on_signal,
        .ended = on_bus_ended,
    };
    static const SessionFuncs session_funcs = {
        .unused = on_unused,
        .progress = on_progress,
    };
    Connection *self = g_new0(Connection, 1);

    self->changed = changed;
    self->data = data;
    self->data_free = data_free;
    self->session = session_new(&session_funcs, self);
    self->bus = bus_new(self->session, bus_type, address, &bus_funcs, self);
    self->table = lock_table_new(self->session, self->bus, on_terminated, self);
    self->method_calls = method_calls_new(self->session, self->bus, self->table);
    return self;
}

void
connection_unref(Connection *self)
{
    Session *session = self->session;

    session_enter(session);
    session_remove_user(session);
    session_leave(session);
}
