/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/call.h"

#include "client-lib/error-private.h"
#include "common/wire-names.h"

GQuark
call_error_quark(void)
{
    return g_quark_from_static_string("web-locks-call-error-quark");
}

struct Call {
    ConnectionPart part;
    Connection *connection;
    SdBusSlot *slot;
    CallAnswered answered;
    gpointer data;
};

static SdBusMessage *
new_call(Connection *connection, const char *path, const char *interface, const char *method)
{
    SdBusMessage *message = NULL;
    int r = sd_bus_message_new_method_call(connection_get_bus(connection), &message, WIRE_BUS_NAME,
                                           path, interface, method);

    g_assert(r >= 0); /* no name comes from outside */
    return message;
}

SdBusMessage *
call_new_to_bucket(Connection *connection, const char *path, const char *method)
{
    return new_call(connection, path, WIRE_LOCKS_INTERFACE, method);
}

SdBusMessage *
call_new_to_service(Connection *connection, const char *method)
{
    return new_call(connection, WIRE_SERVICE_PATH, WIRE_SERVICE_INTERFACE, method);
}

static void
call_free(Call *self)
{
    connection_remove_part(self->connection, &self->part);
    g_clear_pointer(&self->slot, sd_bus_slot_unref);
    connection_unref(self->connection);
    g_free(self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Call, call_free)

static int
on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
    g_autoptr(Call) self = userdata;
    const sd_bus_error *wire_error = sd_bus_message_get_error(reply);
    g_autoptr(GError) error = NULL;

    connection_begin_batch(self->connection);
    if (!connection_believes_reply(self->connection, reply))
        error = g_error_new_literal(CALL_ERROR, CALL_ERROR_FORGED,
                                    "The answer did not come from the lock service");
    else if (wire_error != NULL)
        error = error_new_from_wire(wire_error->name, wire_error->message);
    self->answered(error == NULL ? reply : NULL, error, self->data);
    return 1;
}

/* The connection ended. The part is the first thing in a call. */
static void
call_end(ConnectionPart *part, const GError *error)
{
    g_autoptr(Call) self = (Call *)part;

    self->answered(NULL, error, self->data);
}

Call *
call_send(Connection *connection,
          sd_bus_message *message,
          guint64 timeout_us,
          CallAnswered answered,
          gpointer data,
          GError **error)
{
    g_autoptr(Call) self = g_new0(Call, 1);
    int r;

    self->connection = connection_ref(connection);
    self->answered = answered;
    self->data = data;
    self->part.end = call_end;
    connection_add_part(connection, &self->part);
    r = sd_bus_call_async(connection_get_bus(connection), &self->slot, message, on_answer, self,
                          timeout_us);
    if (r < 0) {
        g_propagate_error(error, error_new_from_errno(r));
        return NULL;
    }
    return g_steal_pointer(&self);
}

void
call_cancel(Call *self)
{
    call_free(self);
}

void
call_send_quietly(sd_bus_message *message)
{
    int r = sd_bus_message_set_expect_reply(message, 0);

    g_assert(r >= 0);
    r = sd_bus_send(sd_bus_message_get_bus(message), message, NULL);
    if (r < 0)
        g_debug("A message was not sent: %s", g_strerror(-r));
}

/* ---- for a task */

typedef struct {
    Connection *connection;
    GTask *task;
    Call *call; /* NULL: the result is on its way */
    GSource *cancelled;
    CallBuild build;
    CallRead read;
    GDestroyNotify result_free;
    gpointer result;
    GError *error;
} TaskCall;

static void
task_call_return(gpointer data)
{
    g_autofree TaskCall *self = data;
    g_autoptr(GTask) task = self->task;

    if (self->cancelled != NULL) {
        g_source_destroy(self->cancelled);
        g_source_unref(self->cancelled);
    }
    if (self->error != NULL)
        g_task_return_error(task, self->error);
    else
        g_task_return_pointer(task, self->result, self->result_free);
    connection_unref(self->connection);
}

static void task_call_answered(sd_bus_message *reply, const GError *error, gpointer data);

static void
task_call_send(TaskCall *self)
{
    g_autoptr(SdBusMessage) message = NULL;

    if (connection_open(self->connection, &self->error)) {
        message = self->build(self->connection, self->task);
        self->call = call_send(self->connection, message, CALL_DEFAULT_TIMEOUT, task_call_answered,
                               self, &self->error);
    }
    if (self->call == NULL)
        connection_defer(self->connection, task_call_return, self);
}

static void
task_call_answered(sd_bus_message *reply, const GError *error, gpointer data)
{
    TaskCall *self = data;

    self->call = NULL;
    if (g_error_matches(error, CALL_ERROR, CALL_ERROR_FORGED))
        self->error =
            g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE, error->message);
    else if (error != NULL)
        self->error = g_error_copy(error);
    else
        self->result = self->read(reply, self->task, &self->error);

    if (self->result == NULL && self->error == NULL)
        task_call_send(self);
    else
        connection_defer(self->connection, task_call_return, self);
}

static gboolean
task_call_cancelled(GCancellable *cancellable, gpointer data)
{
    TaskCall *self = data;

    if (self->call == NULL)
        return G_SOURCE_REMOVE;
    call_cancel(g_steal_pointer(&self->call));
    g_cancellable_set_error_if_cancelled(cancellable, &self->error);
    task_call_return(self);
    return G_SOURCE_REMOVE;
}

static void
task_call_start(gpointer data)
{
    TaskCall *self = data;
    GCancellable *cancellable = g_task_get_cancellable(self->task);

    if (cancellable != NULL) {
        self->cancelled = g_cancellable_source_new(cancellable);
        g_source_set_callback(self->cancelled, G_SOURCE_FUNC(task_call_cancelled), self, NULL);
        g_source_attach(self->cancelled, connection_get_dispatch_context(self->connection));
    }
    task_call_send(self);
}

void
call_run_for_task(
    Connection *connection, GTask *task, CallBuild build, CallRead read, GDestroyNotify result_free)
{
    TaskCall *self;

    if (g_task_return_error_if_cancelled(task)) {
        g_object_unref(task);
        return;
    }
    self = g_new0(TaskCall, 1);
    self->connection = connection_ref(connection);
    self->task = task;
    self->build = build;
    self->read = read;
    self->result_free = result_free;
    connection_run(connection, task_call_start, self, NULL);
}
