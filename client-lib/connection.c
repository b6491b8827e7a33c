/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/connection.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/error-private.h"
#include "client-lib/post.h"
#include "common/sd-bus-source.h"
#include "common/wire-names.h"

typedef enum {
    STATE_NEW,
    STATE_OPEN,
    STATE_CLOSED, /* by the application */
    STATE_GONE,   /* by the bus */
} ConnectionState;

typedef struct {
    ConnectionFunc func;
    gpointer data;
} Continuation;

struct Connection {
    gatomicrefcount n_refs;
    Gate *gate;
    GMainContext *context;
    GBusType bus_type;
    char *address;

    int state; /* a ConnectionState; atomic */
    Wire bus;
    Route *route;
    GQueue waiters;  /* of ConnectionWaiter */
    char *client_id; /* atomic */
    char *owner;     /* unique name of the service; NULL: nobody serves */
    guint n_owner_changes;
    gboolean is_settled;
    guint64 last_key;
    LoneResult *lone; /* of the batch that is processed now */
    int n_untold;     /* results; atomic */
    int n_abandoned;  /* requests; atomic */

    Ledger *ledger;
    Resync *resync;
    GQueue parts;   /* of ConnectionPart */
    GQueue settled; /* of Continuation: until the bus has answered */

    ConnectionFunc changed;
    gpointer changed_data;
    GDestroyNotify changed_destroy;
};

/* ---- continuations */

static void
continuations_push(GQueue *queue, ConnectionFunc func, gpointer data)
{
    Continuation *continuation = g_new(Continuation, 1);

    continuation->func = func;
    continuation->data = data;
    g_queue_push_tail(queue, continuation);
}

/* Each may add to the queue and may drop what holds the connection. */
static void
continuations_run(GQueue *queue)
{
    Continuation *next;

    while ((next = g_queue_pop_head(queue)) != NULL) {
        g_autofree Continuation *continuation = next;

        continuation->func(continuation->data);
    }
}

/* ---- life */

static ConnectionState
get_state(const Connection *self)
{
    return (ConnectionState)g_atomic_int_get(&self->state);
}

Connection *
connection_new(GBusType bus_type, const char *address, gboolean use_socket)
{
    Connection *self = g_new0(Connection, 1);

    g_atomic_ref_count_init(&self->n_refs);
    self->gate = gate_new();
    self->context = g_main_context_ref_thread_default();
    self->bus_type = bus_type;
    self->address = g_strdup(address);
    self->ledger = ledger_new();
    self->resync = resync_new(self);
    self->route = route_new(self, use_socket);
    return self;
}

Connection *
connection_ref(Connection *self)
{
    g_atomic_ref_count_inc(&self->n_refs);
    return self;
}

static void
connection_free(Connection *self)
{
    Gate *gate = self->gate;

    g_assert(g_queue_is_empty(&self->parts));
    resync_close(self->resync);
    /* What was sent last may still be in sd-bus; the bus ends for us all that we hold anyway. */
    route_close(self->route);
    wire_close(&self->bus);

    if (self->changed_destroy != NULL)
        self->changed_destroy(self->changed_data);
    continuations_run(&self->settled); /* of those who gave up: others have a reference */
    resync_free(self->resync);
    route_free(self->route);
    ledger_free(self->ledger);
    g_main_context_unref(self->context);
    g_free(self->client_id);
    g_free(self->owner);
    g_free(self->address);
    g_free(self);
    gate_unref(gate);
}

/* Inside the gate, so that nobody in there meets a connection without references. */
void
connection_unref(Connection *self)
{
    Gate *gate = self->gate;

    gate_enter(gate);
    if (g_atomic_ref_count_dec(&self->n_refs))
        connection_free(self);
    gate_leave(gate);
}

gboolean
connection_is_of_this_process(const Connection *self)
{
    return gate_is_of_this_process(self->gate);
}

gboolean
connection_is_open(const Connection *self)
{
    return get_state(self) == STATE_OPEN;
}

gboolean
connection_is_over(const Connection *self)
{
    return get_state(self) >= STATE_CLOSED || !connection_is_of_this_process(self);
}

const char *
connection_get_client_id(const Connection *self)
{
    return g_atomic_pointer_get(&((Connection *)self)->client_id);
}

sd_bus *
connection_get_bus(const Connection *self)
{
    return self->bus.bus;
}

Route *
connection_get_route(const Connection *self)
{
    return self->route;
}

Ledger *
connection_get_ledger(const Connection *self)
{
    return self->ledger;
}

Resync *
connection_get_resync(const Connection *self)
{
    return self->resync;
}

void
connection_add_part(Connection *self, ConnectionPart *part)
{
    part->link.data = part;
    g_queue_push_tail_link(&self->parts, &part->link);
}

void
connection_remove_part(Connection *self, ConnectionPart *part)
{
    g_queue_unlink(&self->parts, &part->link);
}

guint64
connection_next_key(Connection *self)
{
    return ++self->last_key;
}

GMainContext *
connection_get_context(const Connection *self)
{
    return self->context;
}

Gate *
connection_get_gate(const Connection *self)
{
    return self->gate;
}

void
connection_set_watcher(Connection *self,
                       ConnectionFunc changed,
                       gpointer data,
                       GDestroyNotify destroy)
{
    self->changed = changed;
    self->changed_data = data;
    self->changed_destroy = destroy;
}

/* It is known whether there is a connection: it has opened, or ended. */
static void
settle(Connection *self)
{
    self->is_settled = TRUE;
    continuations_run(&self->settled);
    if (self->changed != NULL)
        self->changed(self->changed_data);
}

void
connection_settle(Connection *self)
{
    if (!self->is_settled)
        settle(self);
}

/* ---- when things run */

void
connection_wake(const ConnectionWaiter *waiter)
{
    const guint64 one = 1;

    /* It only fails when it is woken more than often enough. */
    if (write(waiter->wake_fd, &one, sizeof one) < 0)
        g_debug("Nobody was woken: %s", g_strerror(errno));
}

static void
wake_waiters(Connection *self)
{
    for (GList *l = self->waiters.head; l != NULL; l = l->next)
        connection_wake(l->data);
}

/* Those who are asleep know nothing of what another thread has left sd-bus to do: to write on, to
 * process what is read already. */
static void
wake_others(Connection *self)
{
    const Wire *socket = route_get_socket(self->route);

    if (get_state(self) != STATE_OPEN || !connection_is_of_this_process(self))
        return;
    /* Nobody may be running that context. */
    if (self->waiters.length > 0 && (wire_is_writing(&self->bus) || wire_is_writing(socket)))
        wake_waiters(self);
    if (!g_main_context_is_owner(self->context) &&
        (wire_has_news(&self->bus) || wire_has_news(socket)))
        g_main_context_wakeup(self->context);
}

/* The first result of a batch is told at the end of the batch, without another turn of the context;
 * the others are posted. If any is still untold, this one is posted too, so they stay in order, and
 * none waits for the callback of another. */
void
connection_tell(Connection *self,
                GMainContext *context,
                ConnectionFunc func,
                gpointer data,
                GDestroyNotify destroy)
{
    gboolean is_lone = g_atomic_int_add(&self->n_untold, 1) == 0;

    if (is_lone && self->lone != NULL && self->lone->context == context)
        *self->lone = (LoneResult){context, func, data, destroy};
    else
        post_to_context(context, func, data, destroy);
}

void
connection_begin_batch(Connection *self, LoneResult *lone)
{
    self->lone = lone;
}

void
connection_end_batch(Connection *self)
{
    self->lone = NULL;
}

void
connection_remove_untold(Connection *self)
{
    g_atomic_int_add(&self->n_untold, -1);
}

void
connection_wires_changed(Connection *self)
{
    wake_waiters(self);
}

void
connection_enter(Connection *self)
{
    gate_enter(connection_ref(self)->gate);
}

void
connection_leave(Connection *self)
{
    Gate *gate = self->gate;

    wake_others(self);
    connection_unref(self);
    gate_leave(gate);
}

void
connection_run(Connection *self, ConnectionFunc func, gpointer data)
{
    connection_enter(self);
    func(data);
    connection_leave(self);
}

void
connection_emit(Connection *self, ConnectionFunc func, gpointer data, GDestroyNotify destroy)
{
    post_to_context(self->context, func, data, destroy);
}

/* ---- messages */

/* Nothing is lost by that: see resync.h. */
static void
owner_changed(Connection *self, const char *owner)
{
    gboolean was_served = self->owner != NULL;

    if (g_strcmp0(owner, self->owner) == 0)
        return;
    g_free(self->owner);
    self->owner = g_strdup(owner);
    self->n_owner_changes++;
    resync_owner_changed(self->resync, was_served);
    /* Each may take itself out, or add others at the end. */
    for (GList *l = self->parts.head, *next; l != NULL; l = next) {
        ConnectionPart *part = l->data;

        next = l->next;
        if (part->owner_changed != NULL)
            part->owner_changed(part);
    }
    route_owner_changed(self->route);
    resync_go_on(self->resync);
}

gboolean
connection_is_served(Connection *self)
{
    gboolean is_served;

    gate_enter(self->gate);
    is_served = get_state(self) == STATE_OPEN && self->owner != NULL;
    gate_leave(self->gate);
    return is_served;
}

const char *
connection_get_owner(const Connection *self)
{
    return self->owner;
}

guint
connection_get_owner_changes(const Connection *self)
{
    return self->n_owner_changes;
}

static gboolean
is_from(sd_bus_message *message, const char *name)
{
    return name != NULL && g_strcmp0(sd_bus_message_get_sender(message), name) == 0;
}

gboolean
connection_believes_signal(const Connection *self, sd_bus_message *signal)
{
    return is_from(signal, self->owner);
}

gboolean
connection_believes_reply(const Connection *self, sd_bus_message *reply)
{
    /* sd-bus itself answers a call whose connection or time ended; that answer has no sender. */
    return is_from(reply, self->owner) || is_from(reply, WIRE_DRIVER_NAME) ||
           sd_bus_message_get_sender(reply) == NULL;
}

static int
on_bus_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Connection *self = userdata;
    const char *name, *old_owner, *new_owner;

    if (sd_bus_message_is_signal(message, WIRE_DRIVER_INTERFACE, "NameOwnerChanged")) {
        route_read_socket(self->route);
        if (is_from(message, WIRE_DRIVER_NAME) &&
            sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) >= 0 &&
            strcmp(name, WIRE_BUS_NAME) == 0)
            owner_changed(self, new_owner[0] == '\0' ? NULL : new_owner);
        return 1;
    }
    if (sd_bus_message_is_signal(message, WIRE_LOCKS_INTERFACE, NULL)) {
        if (connection_believes_signal(self, message)) {
            route_read_socket(self->route);
            ledger_on_signal(self->ledger, message, self->client_id);
        }
        return 1;
    }
    return 0;
}

/* Nobody but the service is there. */
static int
on_socket_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Connection *self = userdata;

    if (sd_bus_message_is_signal(message, WIRE_LOCKS_INTERFACE, NULL) <= 0)
        return 0;
    ledger_on_signal(self->ledger, message, self->client_id);
    return 1;
}

int
connection_listen(Connection *self, sd_bus *socket)
{
    return sd_bus_add_filter(socket, NULL, on_socket_message, self);
}

/* ---- the end */

static void
connection_end(Connection *self, ConnectionState state, WebLocksError code, const char *text)
{
    g_autoptr(GError) error = g_error_new_literal(WEB_LOCKS_ERROR, (int)code, text);

    g_atomic_int_set(&self->state, (int)state);
    g_clear_pointer(&self->owner, g_free);
    resync_close(self->resync);
    while (!g_queue_is_empty(&self->parts)) {
        ConnectionPart *part = g_queue_peek_head(&self->parts);

        part->end(part, error);
    }
    route_close(self->route);
    wire_close(&self->bus);
    ledger_end_all(self->ledger, WIRE_REASON_TERMINATED, error);
    settle(self);
    wake_waiters(self);
}

static void
end_by_bus(Wire *bus)
{
    Connection *self = bus->connection;

    if (connection_is_of_this_process(self) && get_state(self) == STATE_OPEN)
        connection_end(self, STATE_GONE, WEB_LOCKS_ERROR_UNAVAILABLE,
                       "The connection to the bus ended");
}

static void
end_by_application(gpointer data)
{
    Connection *self = data;

    if (get_state(self) != STATE_CLOSED)
        connection_end(self, STATE_CLOSED, WEB_LOCKS_ERROR_ABORT, "The agent was closed");
}

void
connection_close(Connection *self)
{
    if (connection_is_of_this_process(self))
        connection_run(self, end_by_application, self);
}

/* ---- the beginning */

/* Without these two we don't know whom to believe: then this is no connection. */
static gboolean
is_refused(Connection *self, sd_bus_message *reply)
{
    if (sd_bus_message_get_error(reply) == NULL ||
        sd_bus_message_is_method_error(reply, WIRE_ERROR_NAME_HAS_NO_OWNER) > 0)
        return FALSE;
    sd_bus_close(self->bus.bus); /* it is found out when it is processed */
    return TRUE;
}

static int
on_match_added(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    is_refused(userdata, reply);
    return 1;
}

static int
on_name_owner(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Connection *self = userdata;
    const char *owner, *client_id;

    if (is_refused(self, reply) || sd_bus_get_unique_name(self->bus.bus, &client_id) < 0)
        return 1;
    g_atomic_pointer_set(&self->client_id, g_strdup(client_id));
    if (sd_bus_message_get_error(reply) == NULL &&
        sd_bus_message_read_basic(reply, 's', &owner) > 0)
        owner_changed(self, owner);
    if (!route_start(self->route))
        connection_settle(self);
    return 1;
}

static int
ask_driver(Connection *self,
           sd_bus *bus,
           const char *method,
           const char *argument,
           sd_bus_message_handler_t answered)
{
    g_autoptr(SdBusMessage) message = NULL;
    int r = sd_bus_message_new_method_call(bus, &message, WIRE_DRIVER_NAME, WIRE_DRIVER_PATH,
                                           WIRE_DRIVER_INTERFACE, method);

    if (r >= 0)
        r = sd_bus_message_append_basic(message, 's', argument);
    if (r >= 0)
        r = sd_bus_call_async(bus, NULL, message, answered, self, UINT64_MAX);
    return r;
}

/* Subscribe, then ask, so that no change is missed in between. */
static int
follow_owner(Connection *self, sd_bus *bus)
{
    int r =
        ask_driver(self, bus, "AddMatch",
                   "type='signal',sender='" WIRE_DRIVER_NAME "',interface='" WIRE_DRIVER_INTERFACE
                   "',member='NameOwnerChanged',arg0='" WIRE_BUS_NAME "'",
                   on_match_added);

    if (r >= 0)
        r = ask_driver(self, bus, "GetNameOwner", WIRE_BUS_NAME, on_name_owner);
    return r;
}

static int
open_bus(Connection *self, sd_bus **out_bus)
{
    int r;

    if (self->address == NULL) {
        switch (self->bus_type) {
        case G_BUS_TYPE_SYSTEM:
            return sd_bus_open_system(out_bus);
        case G_BUS_TYPE_SESSION:
            return sd_bus_open_user(out_bus);
        case G_BUS_TYPE_STARTER:
        case G_BUS_TYPE_NONE:
        default:
            return sd_bus_open(out_bus);
        }
    }

    r = sd_bus_new(out_bus);
    if (r >= 0)
        r = sd_bus_set_address(*out_bus, self->address);
    if (r >= 0)
        r = sd_bus_set_bus_client(*out_bus, 1);
    if (r >= 0)
        r = sd_bus_start(*out_bus);
    return r;
}

gboolean
connection_open(Connection *self, GError **error)
{
    sd_bus *bus = NULL;
    int r;

    if (!connection_is_of_this_process(self)) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            "The agent belongs to the process that forked this one");
        return FALSE;
    }
    switch (get_state(self)) {
    case STATE_OPEN:
        return TRUE;
    case STATE_CLOSED:
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            "The agent is closed");
        return FALSE;
    case STATE_GONE:
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                            "The connection to the bus has ended");
        return FALSE;
    case STATE_NEW:
    default:
        break;
    }

    r = open_bus(self, &bus);
    if (r >= 0)
        r = sd_bus_add_filter(bus, NULL, on_bus_message, self);
    if (r >= 0)
        r = follow_owner(self, bus);
    if (r < 0) {
        sd_bus_unref(bus);
        g_propagate_prefixed_error(error, error_new_from_errno(r), "No connection to the bus: ");
        return FALSE;
    }
    g_atomic_int_set(&self->state, STATE_OPEN);
    wire_open(&self->bus, self, bus, end_by_bus);
    return TRUE;
}

void
connection_when_settled(Connection *self, ConnectionFunc func, gpointer data)
{
    if (self->is_settled)
        func(data);
    else
        continuations_push(&self->settled, func, data);
}

/* ---- sync calls */

gboolean
connection_has_abandoned(const Connection *self)
{
    return g_atomic_int_get(&self->n_abandoned) > 0;
}

void
connection_add_abandoned(Connection *self)
{
    g_atomic_int_inc(&self->n_abandoned);
}

void
connection_remove_abandoned(Connection *self)
{
    g_atomic_int_add(&self->n_abandoned, -1);
    wake_waiters(self);
}

gboolean
connection_process(Connection *self, const ConnectionPoll *ready)
{
    Wire *socket = route_get_socket(self->route);

    if (get_state(self) != STATE_OPEN || !connection_is_of_this_process(self))
        return FALSE;
    if (resync_tick(self->resync))
        return TRUE;
    if (ready == NULL)
        return wire_process(socket) || wire_process(&self->bus);
    return (ready->fds[1].revents != 0 && wire_process(socket)) ||
           (ready->fds[0].revents != 0 && wire_process(&self->bus));
}

void
connection_get_poll(const Connection *self, ConnectionPoll *wanted)
{
    wanted->until_us = resync_get_time(self->resync);
    wanted->fds[0] = wire_get_poll(&self->bus, &wanted->until_us);
    wanted->fds[1] = wire_get_poll(route_get_socket(self->route), &wanted->until_us);
}

void
connection_add_waiter(Connection *self, ConnectionWaiter *waiter)
{
    waiter->link.data = waiter;
    g_queue_push_tail_link(&self->waiters, &waiter->link);
}

/* Those who wait on must not rely on this one to process what is read already. */
void
connection_remove_waiter(Connection *self, ConnectionWaiter *waiter)
{
    wire_read_on(route_get_socket(self->route));
    g_queue_unlink(&self->waiters, &waiter->link);
    wake_waiters(self);
    wake_others(self);
}
