/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/method-call.h"

#include <glib/gi18n-lib.h>

#include "client-lib/error-private.h"

/* How many times a call is sent, if the service ends or changes before it replies. */
#define ATTEMPTS_MAX 16

typedef enum {
    WAIT_READY,  /* until all earlier lock operations have been sent */
    WAIT_ANSWER, /* for the reply */
    WAIT_CHANGE, /* until the owner of the service's name changes */
} Wait;

struct MethodCalls {
    Session *session;
    Bus *bus;
    LockTable *table;
    GQueue method_calls; /* of MethodCall */
};

typedef struct {
    GList link;
    MethodCalls *owner;
    const MethodCallKind *kind;
    gpointer data;
    Completion completion;
    Wait wait;
    BusCall *call;
    SessionTimer timer;
    guint n_attempts;
} MethodCall;

static void method_call_try(MethodCall *self);

/* ---- the result */

static void
free_data(const MethodCallKind *kind, gpointer data)
{
    if (kind->data_free != NULL)
        kind->data_free(data);
}

static void
method_call_free(gpointer data)
{
    MethodCall *self = data;

    g_clear_pointer(&self->call, bus_call_forget);
    session_stop_timer(self->owner->session, &self->timer);
    g_queue_unlink(&self->owner->method_calls, &self->link);
    session_remove_user(self->owner->session);
    free_data(self->kind, self->data);
    g_free(self);
}

void
method_call_refuse(
    const MethodCallKind *kind, gpointer data, Session *session, GError *error, Caller caller)
{
    free_data(kind, data);
    caller_fail(caller, session, error);
}

/* Takes the error. */
static void
method_call_fail(MethodCall *self, GError *error)
{
    completion_return(&self->completion, NULL, NULL, error);
    method_call_free(self);
}

/* No reply will be received. If the call was sent, the service may have received it. */
static void
method_call_fail_unanswered(MethodCall *self, const GError *error)
{
    if (self->kind->is_once && self->wait == WAIT_ANSWER)
        method_call_fail(self, error_new_unavailable(
                                   _("it has not answered, and may have done what was requested")));
    else
        method_call_fail(self, g_error_copy(error));
}

static void
method_call_succeed(MethodCall *self, gpointer result)
{
    completion_return(&self->completion, result, self->kind->result_free, NULL);
    method_call_free(self);
}

static void
on_expired(gpointer data)
{
    g_autoptr(GError) error = error_new_unavailable(_("it has not answered in time"));

    method_call_fail_unanswered(data, error);
}

static void
method_call_next(MethodCall *self)
{
    MethodCalls *owner = self->owner;

    self->wait = WAIT_READY;
    if (self->completion.sync == NULL || self->timer.due_us == 0)
        session_start_timer(owner->session, &self->timer,
                            g_get_monotonic_time() + ANSWER_TIMEOUT_US);
    method_call_try(self);
}

/* Takes the result or the error. */
static void
method_call_return(MethodCall *self, gpointer result, GError *error)
{
    if (error != NULL)
        method_call_fail(self, error);
    else if (result != NULL)
        method_call_succeed(self, result);
    else
        method_call_next(self);
}

static void
on_raw_reply(const BusReply *reply, gpointer data)
{
    MethodCall *self = data;
    GError *error = NULL;
    gpointer result = self->kind->read_raw(reply, self->data, &error);

    self->call = NULL;
    method_call_return(self, result, error);
}

static void
method_call_take(MethodCall *self, GDBusMessage *message)
{
    GVariant *body = g_dbus_message_get_body(message);
    g_autoptr(GVariant) tuple =
        g_variant_ref_sink(body != NULL ? body : g_variant_new_tuple(NULL, 0));
    GError *error = NULL;
    gpointer result = NULL;

    if (self->kind->read != NULL)
        result = self->kind->read(tuple, self->data, &error);
    else
        error = error_new_unreadable(); /* it is not in native byte order */
    method_call_return(self, result, error);
}

/* ---- sending */

static void
method_call_wait(MethodCall *self, Wait wait, const GError *error)
{
    self->wait = wait;
    if (++self->n_attempts == ATTEMPTS_MAX)
        method_call_fail(self, g_error_copy(error));
}

static void
on_answered(BusOutcome outcome, GDBusMessage *reply, const GError *error, gpointer data)
{
    MethodCall *self = data;

    self->call = NULL;
    switch (outcome) {
    case BUS_ANSWERED:
        method_call_take(self, reply);
        break;
    case BUS_UNANSWERED:
        if (self->kind->is_once)
            method_call_fail_unanswered(self, error);
        else
            method_call_wait(self, WAIT_READY, error);
        break;
    case BUS_LEAVING:
        method_call_wait(self, WAIT_CHANGE, error);
        break;
    case BUS_TIMED_OUT:
    case BUS_ENDED:
        method_call_fail_unanswered(self, error);
        break;
    case BUS_ABSENT:
    case BUS_REFUSED:
    default:
        method_call_fail(self, g_error_copy(error));
        break;
    }
}

static void
method_call_try(MethodCall *self)
{
    MethodCalls *owner = self->owner;
    BusMessage call;

    if (!bus_is_connected(owner->bus))
        return;
    if (self->kind->build == NULL) {
        method_call_succeed(self, owner);
        return;
    }
    if (!lock_table_is_settled(owner->table))
        return;
    self->wait = WAIT_ANSWER;
    call = self->kind->build(self->data);
    call.take = self->kind->read_raw != NULL ? on_raw_reply : NULL;
    self->call = bus_call(owner->bus, &call, 0, on_answered, self);
}

void
method_calls_start(MethodCalls *self, const MethodCallKind *kind, gpointer data, Caller caller)
{
    MethodCall *call = g_new0(MethodCall, 1);

    call->owner = self;
    call->kind = kind;
    call->data = data;
    call->timer.data = call;
    call->timer.expired = on_expired;
    completion_init(&call->completion, self->session, caller);
    if (!completion_listen(&call->completion, caller.cancellable, method_call_free, call)) {
        free_data(kind, data);
        g_free(call);
        return;
    }
    session_add_user(self->session);
    call->link.data = call;
    g_queue_push_tail_link(&self->method_calls, &call->link);
    method_call_next(call);
}

/* ---- all of them */

/* No call is added meanwhile. */
void
method_calls_try(MethodCalls *self)
{
    for (GList *link = self->method_calls.head, *next; link != NULL; link = next) {
        MethodCall *call = link->data;

        next = link->next;
        if (call->wait == WAIT_READY)
            method_call_try(call);
    }
}

/* Calls wait until lock operations that have to be sent again have been sent. */
void
method_calls_owner_changed(MethodCalls *self)
{
    for (GList *link = self->method_calls.head; link != NULL; link = link->next) {
        MethodCall *call = link->data;

        if (call->wait == WAIT_CHANGE)
            call->wait = WAIT_READY;
    }
}

void
method_calls_finish(MethodCalls *self, const GError *error)
{
    /* With another error, the application has closed the agent. */
    const gboolean has_ended = g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE);

    while (!g_queue_is_empty(&self->method_calls)) {
        MethodCall *call = g_queue_peek_head(&self->method_calls);

        if (has_ended)
            method_call_fail_unanswered(call, error);
        else
            method_call_fail(call, g_error_copy(error));
    }
}

MethodCalls *
method_calls_new(Session *session, Bus *bus, LockTable *table)
{
    MethodCalls *self = g_new0(MethodCalls, 1);

    self->session = session;
    self->bus = bus;
    self->table = table;
    return self;
}

void
method_calls_free(MethodCalls *self)
{
    g_assert(g_queue_is_empty(&self->method_calls));
    g_free(self);
}
