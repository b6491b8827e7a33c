/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/connection.h"

#include <string.h>
#include <unistd.h>

#include "client-lib/error-private.h"
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
    GMainContext *context;
    pid_t pid;
    GBusType bus_type;
    char *address;

    ConnectionState state;
    sd_bus *bus;
    GSource *source;
    char *client_id;
    char *owner; /* unique name of the service; NULL: nobody serves */
    guint n_owner_changes;
    gboolean is_settled;
    guint64 last_key;

    Ledger *ledger;
    GQueue parts;         /* of ConnectionPart */
    GQueue settled;       /* of Continuation: until the bus has answered */
    GQueue owner_changes; /* of Continuation: until the owner changes */

    GQueue deferred; /* of Continuation */
    gboolean is_in_batch;

    GMainContext *sync_context; /* made with the first sync call */
    GSource *sync_source;
    guint n_syncs;

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

Connection *
connection_new(GBusType bus_type, const char *address)
{
    Connection *self = g_new0(Connection, 1);

    g_atomic_ref_count_init(&self->n_refs);
    self->context = g_main_context_ref_thread_default();
    self->pid = getpid();
    self->bus_type = bus_type;
    self->address = g_strdup(address);
    self->ledger = ledger_new();
    return self;
}

Connection *
connection_ref(Connection *self)
{
    g_atomic_ref_count_inc(&self->n_refs);
    return self;
}

static void
destroy_source(GSource **source)
{
    if (*source == NULL)
        return;
    g_source_destroy(*source);
    g_clear_pointer(source, g_source_unref);
}

static void
connection_free(gpointer data)
{
    Connection *self = data;

    g_assert(g_queue_is_empty(&self->parts));
    destroy_source(&self->source);
    destroy_source(&self->sync_source);
    /* What was sent last may still be in sd-bus; the bus ends for us all that we hold anyway. */
    if (self->bus != NULL)
        sd_bus_close(self->bus);
    g_clear_pointer(&self->bus, sd_bus_unref);
    if (self->changed_destroy != NULL)
        self->changed_destroy(self->changed_data);
    g_queue_clear_full(&self->deferred, g_free);
    g_queue_clear_full(&self->settled, g_free);
    g_queue_clear_full(&self->owner_changes, g_free);
    ledger_free(self->ledger);
    g_clear_pointer(&self->sync_context, g_main_context_unref);
    g_main_context_unref(self->context);
    g_free(self->client_id);
    g_free(self->owner);
    g_free(self->address);
    g_free(self);
}

static gboolean
run_once(gpointer data)
{
    Continuation *continuation = data;

    if (continuation->func != NULL)
        continuation->func(continuation->data);
    return G_SOURCE_REMOVE;
}

typedef struct {
    Continuation continuation;
    GDestroyNotify destroy;
} Parcel;

static void
parcel_free(gpointer data)
{
    Parcel *parcel = data;

    if (parcel->destroy != NULL)
        parcel->destroy(parcel->continuation.data);
    g_free(parcel);
}

static void
send_to_context(GMainContext *context, ConnectionFunc func, gpointer data, GDestroyNotify destroy)
{
    g_autoptr(GSource) source = g_idle_source_new();
    Parcel *parcel = g_new(Parcel, 1);

    parcel->continuation.func = func;
    parcel->continuation.data = data;
    parcel->destroy = destroy;
    g_source_set_static_name(source, "weblocks");
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, run_once, parcel, parcel_free);
    g_source_attach(source, context);
    /* cppcheck-suppress memleak ; the source has it */
}

void
connection_unref(Connection *self)
{
    g_autoptr(GMainContext) context = NULL;

    if (!g_atomic_ref_count_dec(&self->n_refs))
        return;

    context = g_main_context_ref(self->context);
    if (g_main_context_acquire(context)) {
        connection_free(self);
        g_main_context_release(context);
    } else {
        /* As the destroy function, so that it is freed even if the context never runs again. */
        send_to_context(context, NULL, self, connection_free);
    }
}

gboolean
connection_is_of_this_process(const Connection *self)
{
    return getpid() == self->pid;
}

gboolean
connection_is_open(const Connection *self)
{
    return self->state == STATE_OPEN;
}

gboolean
connection_is_over(const Connection *self)
{
    return self->state == STATE_CLOSED || self->state == STATE_GONE ||
           !connection_is_of_this_process(self);
}

const char *
connection_get_client_id(const Connection *self)
{
    return self->client_id;
}

sd_bus *
connection_get_bus(const Connection *self)
{
    return self->bus;
}

Ledger *
connection_get_ledger(const Connection *self)
{
    return self->ledger;
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

GMainContext *
connection_get_dispatch_context(const Connection *self)
{
    return self->n_syncs > 0 ? self->sync_context : self->context;
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

static void
tell_changed(Connection *self)
{
    if (self->changed != NULL)
        self->changed(self->changed_data);
}

/* ---- when things run */

static void
flush_deferred(Connection *self)
{
    self->is_in_batch = FALSE;
    continuations_run(&self->deferred);
}

static void
flush_deferred_later(gpointer data)
{
    flush_deferred(data);
}

static void
unref_connection(gpointer data)
{
    connection_unref(data);
}

void
connection_defer(Connection *self, ConnectionFunc func, gpointer data)
{
    if (g_queue_is_empty(&self->deferred) && !self->is_in_batch)
        send_to_context(connection_get_dispatch_context(self), flush_deferred_later,
                        connection_ref(self), unref_connection);
    continuations_push(&self->deferred, func, data);
}

void
connection_emit(Connection *self, ConnectionFunc func, gpointer data, GDestroyNotify destroy)
{
    send_to_context(self->context, func, data, destroy);
}

void
connection_run(Connection *self, ConnectionFunc func, gpointer data, GDestroyNotify destroy)
{
    g_autoptr(GMainContext) context = g_main_context_ref(self->context);

    if (!g_main_context_acquire(context)) {
        send_to_context(context, func, data, destroy);
        return;
    }
    func(data);
    if (destroy != NULL)
        destroy(data);
    g_main_context_release(context);
}

/* ---- messages */

static void
owner_changed(Connection *self, const char *owner)
{
    if (g_strcmp0(owner, self->owner) == 0)
        return;
    if (self->owner != NULL) {
        g_autoptr(GError) error = g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                                                      "The lock service went away");

        ledger_end_all(self->ledger, WIRE_REASON_LOST, error);
    }
    g_free(self->owner);
    self->owner = g_strdup(owner);
    self->n_owner_changes++;
    continuations_run(&self->owner_changes);
}

void
connection_when_owner_changes(Connection *self, ConnectionFunc func, gpointer data)
{
    continuations_push(&self->owner_changes, func, data);
}

void
connection_begin_batch(Connection *self)
{
    self->is_in_batch = TRUE;
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
on_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Connection *self = userdata;
    const char *name, *old_owner, *new_owner;

    connection_begin_batch(self);
    if (sd_bus_message_is_signal(message, WIRE_DRIVER_INTERFACE, "NameOwnerChanged")) {
        if (is_from(message, WIRE_DRIVER_NAME) &&
            sd_bus_message_read(message, "sss", &name, &old_owner, &new_owner) >= 0 &&
            strcmp(name, WIRE_BUS_NAME) == 0)
            owner_changed(self, new_owner[0] == '\0' ? NULL : new_owner);
        return 1;
    }
    if (sd_bus_message_is_signal(message, WIRE_LOCKS_INTERFACE, NULL)) {
        if (connection_believes_signal(self, message))
            ledger_on_signal(self->ledger, message);
        return 1;
    }
    return 0;
}

/* ---- the end */

static void
connection_end(Connection *self, ConnectionState state, WebLocksError code, const char *text)
{
    g_autoptr(GError) error = g_error_new_literal(WEB_LOCKS_ERROR, code, text);

    if (self->state != STATE_OPEN && state == STATE_GONE)
        return;
    self->state = state;
    connection_ref(self);
    if (self->bus != NULL)
        sd_bus_close(self->bus);
    destroy_source(&self->source);
    destroy_source(&self->sync_source);
    g_clear_pointer(&self->owner, g_free);
    while (!g_queue_is_empty(&self->parts)) {
        ConnectionPart *part = g_queue_peek_head(&self->parts);

        part->end(part, error);
    }
    ledger_end_all(self->ledger, WIRE_REASON_TERMINATED, error);
    continuations_run(&self->owner_changes);
    self->is_settled = TRUE;
    continuations_run(&self->settled);
    tell_changed(self);
    connection_unref(self);
}

static void
on_closed(gpointer data)
{
    Connection *self = data;

    if (!connection_is_of_this_process(self))
        return;
    connection_end(self, STATE_GONE, WEB_LOCKS_ERROR_UNAVAILABLE,
                   "The connection to the bus ended");
}

void
connection_close(Connection *self)
{
    if (!connection_is_of_this_process(self) || self->state == STATE_CLOSED)
        return;
    connection_end(self, STATE_CLOSED, WEB_LOCKS_ERROR_ABORT, "The agent was closed");
}

/* ---- the beginning */

static void
after_batch(gpointer data)
{
    Connection *self = connection_ref(data);

    flush_deferred(self);
    connection_unref(self);
}

static const SdBusSourceHooks source_hooks = {
    .after_batch = after_batch,
    .on_closed = on_closed,
};

static int
on_name_owner(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Connection *self = userdata;
    const char *owner, *client_id;

    connection_begin_batch(self);
    if (sd_bus_get_unique_name(self->bus, &client_id) < 0)
        return 1; /* the connection ended: who closes it says so */
    self->client_id = g_strdup(client_id);
    /* An error says that nobody owns it, which is what is so if there is no NameOwnerChanged. */
    if (is_from(reply, WIRE_DRIVER_NAME) && sd_bus_message_get_error(reply) == NULL &&
        sd_bus_message_read_basic(reply, 's', &owner) > 0)
        owner_changed(self, owner);
    self->is_settled = TRUE;
    continuations_run(&self->settled);
    tell_changed(self);
    return 1;
}

/* Subscribe, then ask, so that no change is missed in between. */
static int
follow_owner(Connection *self)
{
    static const char match[] =
        "type='signal',sender='" WIRE_DRIVER_NAME "',interface='" WIRE_DRIVER_INTERFACE
        "',member='NameOwnerChanged',arg0='" WIRE_BUS_NAME "'";
    int r = sd_bus_call_method_async(self->bus, NULL, WIRE_DRIVER_NAME, WIRE_DRIVER_PATH,
                                     WIRE_DRIVER_INTERFACE, "AddMatch", NULL, NULL, "s", match);

    if (r >= 0)
        r = sd_bus_call_method_async(self->bus, NULL, WIRE_DRIVER_NAME, WIRE_DRIVER_PATH,
                                     WIRE_DRIVER_INTERFACE, "GetNameOwner", on_name_owner, self,
                                     "s", WIRE_BUS_NAME);
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

static void
attach_sync_source(Connection *self)
{
    self->sync_source = sd_bus_source_attach(self->bus, self->sync_context, &source_hooks, self);
}

gboolean
connection_open(Connection *self, GError **error)
{
    int r;

    if (!connection_is_of_this_process(self)) {
        g_set_error_literal(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                            "The agent belongs to the process that forked this one");
        return FALSE;
    }
    if (self->state == STATE_OPEN)
        return TRUE;
    if (self->state != STATE_NEW) {
        g_set_error_literal(error, WEB_LOCKS_ERROR,
                            self->state == STATE_CLOSED ? WEB_LOCKS_ERROR_INVALID_STATE
                                                        : WEB_LOCKS_ERROR_UNAVAILABLE,
                            self->state == STATE_CLOSED ? "The agent is closed"
                                                        : "The connection to the bus has ended");
        return FALSE;
    }

    r = open_bus(self, &self->bus);
    if (r >= 0)
        r = sd_bus_add_filter(self->bus, NULL, on_message, self);
    if (r >= 0)
        r = follow_owner(self);
    if (r < 0) {
        g_clear_pointer(&self->bus, sd_bus_unref);
        g_propagate_prefixed_error(error, error_new_from_errno(r), "No connection to the bus: ");
        return FALSE;
    }
    self->state = STATE_OPEN;
    self->source = sd_bus_source_attach(self->bus, self->context, &source_hooks, self);
    if (self->n_syncs > 0)
        attach_sync_source(self);
    return TRUE;
}

void
connection_when_settled(Connection *self, ConnectionFunc func, gpointer data)
{
    if (self->is_settled)
        connection_defer(self, func, data);
    else
        continuations_push(&self->settled, func, data);
}

/* ---- sync calls */

GMainContext *
connection_begin_sync(Connection *self)
{
    if (!g_main_context_acquire(self->context))
        return NULL;
    if (self->sync_context == NULL)
        self->sync_context = g_main_context_new();
    if (self->n_syncs++ == 0 && self->state == STATE_OPEN && self->sync_source == NULL)
        attach_sync_source(self);
    return self->sync_context;
}

void
connection_end_sync(Connection *self)
{
    if (--self->n_syncs == 0 && !g_queue_is_empty(&self->deferred))
        send_to_context(self->context, flush_deferred_later, connection_ref(self),
                        unref_connection);
    g_main_context_release(self->context);
}
