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

gboolean
call_is_unanswered(const GError *error)
{
    return error != NULL && error->domain == CALL_ERROR;
}

/* Asked again as often as the service is replaced, its socket closed, or somebody tries to answer
 * in its place. */
#define UNANSWERED_MAX 16

struct Call {
    ConnectionPart part;
    Connection *connection;
    Letter letter;
    CallAnswered answered;
    gpointer data;
};

static SdBusMessage *
new_call(Connection *connection,
         const char *destination,
         const char *path,
         const char *interface,
         const char *method)
{
    SdBusMessage *message = NULL;
    int r = sd_bus_message_new_method_call(connection_get_bus(connection), &message,
                                           destination != NULL ? destination : WIRE_BUS_NAME, path,
                                           interface, method);

    g_assert(r >= 0); /* no name comes from outside */
    return message;
}

SdBusMessage *
call_new_to_bucket(Connection *connection,
                   const char *destination,
                   const char *path,
                   const char *method)
{
    return new_call(connection, destination, path, WIRE_LOCKS_INTERFACE, method);
}

SdBusMessage *
call_new_to_service(Connection *connection, const char *method)
{
    return new_call(connection, NULL, WIRE_SERVICE_PATH, WIRE_SERVICE_INTERFACE, method);
}

static void
call_free(Call *self)
{
    connection_remove_part(self->connection, &self->part);
    route_forget(connection_get_route(self->connection), &self->letter);
    connection_unref(self->connection);
    g_free(self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Call, call_free)

static int
on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
    Call *self = userdata;
    Route *route = connection_get_route(self->connection);
    const sd_bus_error *wire_error = sd_bus_message_get_error(reply);
    g_autoptr(GError) error = NULL;

    if (!route_takes_answer(route, &self->letter, reply))
        return 1;
    if (!route_is_of_socket(route, reply) && !connection_believes_reply(self->connection, reply))
        error = g_error_new_literal(CALL_ERROR, CALL_ERROR_UNANSWERED,
                                    "The answer did not come from the lock service");
    else if (wire_error != NULL)
        error = error_new_from_wire(wire_error->name, wire_error->message);
    self->answered(error == NULL ? reply : NULL, error, self->data);
    call_free(self);
    return 1;
}

static void
on_no_answer(gpointer data)
{
    g_autoptr(Call) self = data;
    g_autoptr(GError) error = g_error_new_literal(CALL_ERROR, CALL_ERROR_UNANSWERED,
                                                  "The way to the lock service was closed");

    self->answered(NULL, error, self->data);
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
    self->letter.answered = on_answer;
    self->letter.unanswered = on_no_answer;
    self->letter.data = self;
    connection_add_part(connection, &self->part);
    r = route_send(connection_get_route(connection), &self->letter, message, timeout_us);
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
call_send_quietly(Connection *connection, sd_bus_message *message)
{
    int r = sd_bus_message_set_expect_reply(message, 0);

    g_assert(r >= 0);
    route_send_quietly(connection_get_route(connection), message);
}

/* ---- for somebody who waits */

typedef struct {
    Connection *connection;
    const CallKind *kind;
    gpointer data;
    Ticket *ticket;
    Call *call;
    guint n_unanswered;
} Run;

static void
run_free(Run *self)
{
    connection_unref(self->connection);
    g_free(self);
}

static void
run_fail(Run *self, GError *error)
{
    ticket_return_error(self->ticket, error);
    run_free(self);
}

static void run_answered(sd_bus_message *reply, const GError *error, gpointer data);

static void
run_send(Run *self)
{
    g_autoptr(SdBusMessage) message = NULL;
    GError *error = NULL;

    if (connection_open(self->connection, &error)) {
        message = self->kind->build(self->connection, self->data);
        self->call =
            call_send(self->connection, message, CALL_DEFAULT_TIMEOUT, run_answered, self, &error);
    }
    if (error != NULL)
        run_fail(self, error);
}

static void
run_answered(sd_bus_message *reply, const GError *error, gpointer data)
{
    Run *self = data;
    gpointer result;
    GError *read_error = NULL;

    if (call_is_unanswered(error)) {
        if (++self->n_unanswered < UNANSWERED_MAX) {
            run_send(self);
            return;
        }
        run_fail(self,
                 g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE, error->message));
        return;
    }
    if (error != NULL) {
        run_fail(self, g_error_copy(error));
        return;
    }
    result = self->kind->read(reply, self->data, &read_error);
    if (read_error != NULL) {
        run_fail(self, read_error);
    } else if (result == NULL) {
        run_send(self);
    } else {
        ticket_return_pointer(self->ticket, result, self->kind->result_free);
        run_free(self);
    }
}

static void
run_cancelled(gpointer data)
{
    Run *self = data;

    call_cancel(self->call);
    ticket_free(self->ticket);
    run_free(self);
}

static void
call_run(Connection *connection, const CallKind *kind, gpointer data, Ticket *ticket)
{
    Run *self = g_new0(Run, 1);

    self->connection = connection_ref(connection);
    self->kind = kind;
    self->data = data;
    self->ticket = ticket;
    if (ticket_listen(ticket, run_cancelled, self))
        run_send(self);
    else
        run_free(self);
}

void
call_run_for_task(Connection *connection, const CallKind *kind, gpointer data, GTask *task)
{
    connection_enter(connection);
    call_run(connection, kind, data, ticket_new_for_task(connection, task));
    connection_leave(connection);
}

gpointer
call_run_sync(Connection *connection,
              const CallKind *kind,
              gpointer data,
              GCancellable *cancellable,
              GError **error)
{
    SyncCall call;

    sync_call_init(&call, connection, cancellable);
    connection_enter(connection);
    call_run(connection, kind, data, ticket_new_for_sync(&call));
    connection_leave(connection);
    return sync_call_wait_pointer(&call, error);
}
