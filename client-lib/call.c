/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/call.h"

#include "client-lib/error-private.h"
#include "common/wire-names.h"

/* Asked again as often as the service is replaced, its socket closed, or somebody tries to answer
 * in its place. */
#define UNANSWERED_MAX 16

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

gboolean
call_is_unsent(const GError *error)
{
    return g_error_matches(error, CALL_ERROR, CALL_ERROR_UNSENT);
}

struct Call {
    ConnectionPart part;
    ResyncItem item;
    Connection *connection;
    Letter letter;
    CallSort sort;
    gboolean was_served; /* somebody was there to read it */
    gint64 timeout_us;   /* of the monotonic clock: when sd-bus is tired of waiting */
    gboolean is_sending;
    GError *over; /* it ended while it was being sent */
    CallAnswered answered;
    gpointer data;
};

static Resync *
get_resync(const Call *self)
{
    return connection_get_resync(self->connection);
}

static Route *
get_route(const Call *self)
{
    return connection_get_route(self->connection);
}

/* ---- what is said */

/* By its unique name, so that no other service takes it for its own. */
static SdBusMessage *
new_call(Connection *connection, const char *path, const char *interface, const char *method)
{
    SdBusMessage *message = NULL;
    const char *owner = connection_get_owner(connection);
    int r = sd_bus_message_new_method_call(connection_get_bus(connection), &message,
                                           owner != NULL ? owner : WIRE_BUS_NAME, path, interface,
                                           method);

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

/* ---- its end */

static void
call_leave(Call *self)
{
    connection_remove_part(self->connection, &self->part);
    resync_remove(get_resync(self), &self->item);
    route_forget(get_route(self), &self->letter);
}

static void
call_free(Call *self)
{
    connection_unref(self->connection);
    g_free(self);
}

/* It is left by all first: whoever hears the answer may end the socket, or the connection. Whoever
 * is sending it hears of its end from call_send(). */
static void
call_answer(Call *self, sd_bus_message *reply, const GError *error)
{
    call_leave(self);
    if (self->is_sending && error != NULL) {
        self->over = g_error_copy(error);
        return;
    }
    self->answered(reply, error, self->data);
    call_free(self);
}

static void
call_fail(Call *self, int code, const char *text)
{
    g_autoptr(GError) error = g_error_new_literal(CALL_ERROR, code, text);

    call_answer(self, NULL, error);
}

/* The connection ended. The part is the first thing in a call. */
static void
call_end(ConnectionPart *part, const GError *error)
{
    call_answer((Call *)part, NULL, error);
}

static void
call_give_up(gpointer call, const GError *error)
{
    call_answer(call, NULL, error);
}

static void
call_say(gpointer call)
{
    const Call *self = call;

    if (self->item.is_sent)
        call_fail(call, CALL_ERROR_UNANSWERED, "The lock service went away");
    else
        call_fail(call, CALL_ERROR_UNSENT, "The lock service was away");
}

/* ---- its answer, or none */

/* When it is to be given up, if it is kept from now on. */
static gint64
get_patience(Call *self, gint64 now_us)
{
    uint64_t default_us = 0;

    if (self->sort == CALL_REQUEST_AGAIN || self->sort == CALL_ABORT ||
        (self->sort == CALL_REQUEST && self->item.is_sent))
        return G_MAXINT64;
    if (self->sort == CALL_REQUEST)
        return 0;
    if (sd_bus_get_method_call_timeout(connection_get_bus(self->connection), &default_us) < 0)
        return now_us;
    return now_us + (gint64)MIN(default_us, (uint64_t)G_TIME_SPAN_DAY);
}

/* Until the service is back. */
static void
call_keep(Call *self, gboolean is_sent)
{
    route_forget(get_route(self), &self->letter);
    self->item.is_sent = is_sent;
    self->item.patience_us = get_patience(self, g_get_monotonic_time());
    resync_keep(get_resync(self), &self->item, is_sent);
}

/* The bus says that the service left without an answer, or had left before. To say that it can't
 * start one is another thing; and to be tired of waiting. */
static gboolean
is_about_leaving(const Call *self, sd_bus_message *reply, gboolean *out_is_sent)
{
    *out_is_sent = sd_bus_message_is_method_error(reply, WIRE_ERROR_NO_REPLY) > 0;
    if (*out_is_sent)
        return g_get_monotonic_time() < self->timeout_us;
    return self->was_served &&
           (sd_bus_message_is_method_error(reply, WIRE_ERROR_SERVICE_UNKNOWN) > 0 ||
            sd_bus_message_is_method_error(reply, WIRE_ERROR_NAME_HAS_NO_OWNER) > 0);
}

static void
call_take(Call *self, sd_bus_message *reply)
{
    const sd_bus_error *wire_error = sd_bus_message_get_error(reply);
    g_autoptr(GError) error = NULL;

    if (wire_error != NULL)
        error = error_new_from_wire(wire_error->name, wire_error->message);
    call_answer(self, error == NULL ? reply : NULL, error);
}

static int
on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
    Call *self = userdata;
    Route *route = get_route(self);
    gboolean is_sent;

    if (!route_takes_answer(route, &self->letter, reply))
        return 1;
    if (route_is_of_socket(route, reply) || connection_believes_signal(self->connection, reply)) {
        resync_confirm(get_resync(self), &self->item);
        call_take(self, reply);
    } else if (!connection_believes_reply(self->connection, reply)) {
        if (resync_may_send(get_resync(self)))
            call_fail(self, CALL_ERROR_UNANSWERED, "The answer did not come from the lock service");
        else
            call_keep(self, TRUE);
    } else if (is_about_leaving(self, reply, &is_sent)) {
        call_keep(self, is_sent);
    } else {
        call_take(self, reply);
    }
    return 1;
}

static void
on_no_answer(gpointer data)
{
    Call *self = data;

    if (resync_may_send(get_resync(self)))
        call_fail(self, CALL_ERROR_UNANSWERED, "The way to the lock service was closed");
    else
        call_keep(self, TRUE);
}

/* ---- sending */

static Call *
call_new(Connection *connection, CallSort sort, CallAnswered answered, gpointer data)
{
    Call *self = g_new0(Call, 1);

    self->connection = connection_ref(connection);
    self->sort = sort;
    self->answered = answered;
    self->data = data;
    self->part.end = call_end;
    self->letter.answered = on_answer;
    self->letter.unanswered = on_no_answer;
    self->letter.data = self;
    self->letter.is_farewell = sort == CALL_RELEASE || sort == CALL_ABORT;
    self->item.say = call_say;
    self->item.give_up = call_give_up;
    self->item.call = self;
    self->item.patience_us = get_patience(self, g_get_monotonic_time());
    self->timeout_us = sort == CALL_QUESTION ? self->item.patience_us : G_MAXINT64;
    self->was_served = connection_get_owner(connection) != NULL;
    connection_add_part(connection, &self->part);
    return self;
}

Call *
call_send(Connection *connection,
          sd_bus_message *message,
          CallSort sort,
          CallAnswered answered,
          gpointer data,
          GError **error)
{
    Call *self;
    int r = 0;

    route_finish(connection_get_route(connection));
    self = call_new(connection, sort, answered, data);
    self->is_sending = TRUE;
    resync_add(get_resync(self), &self->item);
    if (!self->item.is_kept && self->over == NULL)
        r = route_send(get_route(self), &self->letter, message,
                       sort == CALL_QUESTION ? CALL_DEFAULT_TIMEOUT : CALL_NO_TIMEOUT);
    self->is_sending = FALSE;
    if (self->over == NULL && r >= 0)
        return self;
    if (self->over == NULL)
        call_leave(self);
    g_propagate_error(error, self->over != NULL ? self->over : error_new_from_errno(r));
    call_free(self);
    return NULL;
}

Call *
call_wait_for_next(Connection *connection, CallSort sort, CallAnswered answered, gpointer data)
{
    Call *self = call_new(connection, sort, answered, data);

    resync_add_for_next(get_resync(self), &self->item);
    return self;
}

gboolean
call_is_sent(const Call *self)
{
    return !self->item.is_kept || self->item.is_sent;
}

void
call_cancel(Call *self)
{
    call_leave(self);
    call_free(self);
}

void
call_send_quietly(Connection *connection, sd_bus_message *message)
{
    Resync *resync = connection_get_resync(connection);
    int r = sd_bus_message_set_expect_reply(message, 0);

    g_assert(r >= 0);
    route_finish(connection_get_route(connection));
    if (resync_may_send(resync))
        route_send_quietly(connection_get_route(connection), message);
    resync_forget(resync);
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
            call_send(self->connection, message, CALL_QUESTION, run_answered, self, &error);
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
        if (call_is_unsent(error) || ++self->n_unanswered < UNANSWERED_MAX) {
            run_send(self);
            return;
        }
        run_fail(self,
                 g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE, error->message));
        return;
    }
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE) &&
        ++self->n_unanswered < UNANSWERED_MAX) {
        self->call = call_wait_for_next(self->connection, CALL_QUESTION, run_answered, self);
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
