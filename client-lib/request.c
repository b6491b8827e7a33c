/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/request.h"

#include "client-lib/call.h"
#include "client-lib/error-private.h"
#include "client-lib/ledger.h"
#include "client-lib/lock-private.h"
#include "client-lib/ticket.h"
#include "common/wire-names.h"

/* A service that can't make up its mind is no service. */
#define REFUSALS_MAX 16

typedef struct {
    LedgerEntry entry; /* its id is 0 until the service has said it */
    Connection *connection;
    char *path;
    char *name;
    RequestOptions options;
    gint64 began_us;
    guint64 key; /* unique on this connection; 0: it is only there to be given back */
    guint n_attempts;
    guint n_refusals;

    gboolean is_in_ledger; /* it waits */
    guint n_sending;       /* messages about it that are being sent, which keeps it */
    gboolean is_abandoned; /* and counted as such */
    gboolean is_known;     /* the service may have read it */
    Call *call;            /* a Request or an Abort, not answered yet */

    Ticket *ticket; /* NULL: the application has its answer */
} Request;

static void request_send(Request *self);
static void on_answered(sd_bus_message *reply, const GError *error, gpointer data);

static void
request_free(Request *self)
{
    g_assert(self->ticket == NULL && self->call == NULL && !self->is_in_ledger);
    if (self->is_abandoned)
        connection_remove_abandoned(self->connection);
    if (self->key != 0)
        resync_remove_key(connection_get_resync(self->connection), &self->key);
    request_options_clear(&self->options);
    g_free(self->path);
    g_free(self->name);
    connection_unref(self->connection);
    g_free(self);
}

/* Frees it if nobody will ask for it any more. */
static void
request_settle(Request *self)
{
    if (self->ticket == NULL && self->call == NULL && !self->is_in_ledger && self->n_sending == 0)
        request_free(self);
}

static void
request_enter_ledger(Request *self)
{
    ledger_add(connection_get_ledger(self->connection), &self->entry);
    self->is_in_ledger = TRUE;
    resync_watch_over(connection_get_resync(self->connection));
}

static void
request_leave_ledger(Request *self)
{
    if (self->is_in_ledger)
        ledger_remove(connection_get_ledger(self->connection), &self->entry);
    self->is_in_ledger = FALSE;
}

/* ---- the result */

/* Takes the error. */
static void
request_fail(Request *self, GError *error)
{
    request_leave_ledger(self);
    if (self->ticket != NULL)
        ticket_return_error(g_steal_pointer(&self->ticket), error);
    else
        g_error_free(error);
    request_settle(self);
}

static void
request_be_unavailable(Request *self)
{
    if (self->ticket != NULL)
        ticket_return_pointer(g_steal_pointer(&self->ticket), NULL, NULL);
    request_settle(self);
}

/* A grant that crosses the cancellation goes back at once. That may find the socket's end, and with
 * it that of our Abort. */
static void
request_grant(Request *self, guint64 token)
{
    g_autoptr(Hold) hold = hold_new(self->connection, self->path, self->entry.id, token, self->name,
                                    self->options.mode);

    request_leave_ledger(self);
    self->n_sending++;
    if (self->ticket == NULL)
        hold_drop(hold);
    else
        ticket_return_pointer(g_steal_pointer(&self->ticket), web_locks_lock_new(hold),
                              g_object_unref);
    self->n_sending--;
    request_settle(self);
}

static void
on_granted(LedgerEntry *entry, guint64 token)
{
    request_grant((Request *)entry, token);
}

static void
on_ended(LedgerEntry *entry, const char *reason, const GError *error)
{
    request_fail((Request *)entry, g_error_copy(error));
}

/* One that the service has lost is said again, as if it had never been answered. */
static gboolean
on_compared(LedgerEntry *entry, const LedgerRecord *record)
{
    Request *self = (Request *)entry;
    gboolean is_there = record != NULL && record->key == self->key;

    if (is_there && record->token != 0) {
        request_grant(self, record->token);
    } else if (!is_there) {
        request_leave_ledger(self);
        if (self->ticket != NULL)
            request_send(self);
        else
            request_settle(self);
    }
    return is_there;
}

/* The entry is the first thing in a request. */
static const LedgerEntryFuncs request_funcs = {on_granted, on_compared, on_ended};

/* ---- abort [4.3] */

static void request_abort(Request *self);

static void
on_aborted(sd_bus_message *reply, const GError *error, gpointer data)
{
    Request *self = data;

    self->call = NULL;
    if (self->is_in_ledger && call_is_unanswered(error)) {
        request_abort(self);
        request_settle(self);
        return;
    }
    /* Whatever it says: had there been a grant, the signal would have come before. */
    request_leave_ledger(self);
    request_settle(self);
}

/* Sending may take in what has come by the socket: a grant of this very request. So it is not over
 * meanwhile; whoever calls this settles it. */
static void
request_abort(Request *self)
{
    g_autoptr(SdBusMessage) message = call_new_to_bucket(self->connection, self->path, "Abort");
    g_autoptr(GError) error = NULL;

    if (sd_bus_message_append_basic(message, 't', &self->entry.id) < 0)
        g_assert_not_reached();
    self->n_sending++;
    self->call = call_send(self->connection, message, CALL_ABORT, on_aborted, self, &error);
    self->n_sending--;
    if (self->call == NULL)
        g_debug("An Abort was not sent: %s", error->message);
}

static void
request_be_abandoned(Request *self)
{
    self->is_abandoned = TRUE;
    connection_add_abandoned(self->connection);
}

/* If the service has not answered yet, what it gives will be handed back. */
static void
on_cancelled(gpointer data)
{
    Request *self = data;

    ticket_free(g_steal_pointer(&self->ticket));
    if (self->is_in_ledger) {
        request_be_abandoned(self);
        request_abort(self);
    } else if (self->call != NULL && !self->is_known && !call_is_sent(self->call)) {
        call_cancel(g_steal_pointer(&self->call));
    } else {
        request_be_abandoned(self);
    }
    request_settle(self);
}

void
request_give_back(Connection *connection,
                  const char *path,
                  guint64 id,
                  guint64 token,
                  const char *name,
                  WebLocksMode mode)
{
    Request *self = g_new0(Request, 1);

    self->connection = connection_ref(connection);
    self->path = g_strdup(path);
    self->name = g_strdup(name);
    self->options.mode = mode;
    self->entry.id = id;
    self->entry.funcs = &request_funcs;
    request_be_abandoned(self);
    if (token != 0) {
        request_grant(self, token);
    } else {
        request_enter_ledger(self);
        request_abort(self);
        request_settle(self);
    }
}

/* ---- request [4.1] */

static gboolean
request_try_again(Request *self, const GError *error)
{
    /* There was no answer, or somebody answered in the service's place. Its own answer is lost; the
     * key brings it back, however often it takes: it may be a lock. */
    if (call_is_unanswered(error)) {
        self->is_known = self->is_known || !call_is_unsent(error);
        request_send(self);
        return TRUE;
    }
    /* The service was about to leave, as it does when nobody needs it. */
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE) &&
        self->ticket != NULL && ++self->n_refusals < REFUSALS_MAX) {
        self->call = call_wait_for_next(self->connection, CALL_REQUEST_AGAIN, on_answered, self);
        return TRUE;
    }
    return FALSE;
}

static void
on_answered(sd_bus_message *reply, const GError *error, gpointer data)
{
    Request *self = data;
    guint64 token;

    self->call = NULL;
    if (error != NULL) {
        if (request_try_again(self, error))
            return;
        request_fail(self,
                     call_is_unanswered(error) ? error_new_unreadable() : g_error_copy(error));
        return;
    }
    if (sd_bus_message_read_basic(reply, 't', &self->entry.id) <= 0 ||
        sd_bus_message_read_basic(reply, 't', &token) <= 0) {
        request_fail(self, error_new_unreadable());
        return;
    }

    if (self->entry.id == 0) {
        request_be_unavailable(self);
    } else if (token != 0) {
        request_grant(self, token);
    } else {
        request_enter_ledger(self);
        if (self->ticket == NULL) {
            request_abort(self);
            request_settle(self);
        }
    }
}

/* What is left of the time-out. */
static guint
get_timeout(const Request *self)
{
    guint timeout_ms = self->options.timeout_ms;
    gint64 passed_ms = (g_get_monotonic_time() - self->began_us) / G_TIME_SPAN_MILLISECOND;

    if (timeout_ms == 0 || self->n_attempts == 1)
        return timeout_ms;
    return (guint)MAX((gint64)timeout_ms - passed_ms, 1);
}

static int
append_options(sd_bus_message *message, const Request *self)
{
    const RequestOptions *options = &self->options;
    guint timeout_ms = get_timeout(self);
    int r = sd_bus_message_open_container(message, 'a', "{sv}");

    if (r >= 0)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_KEY, "t", self->key);
    if (r >= 0 && options->mode == WEB_LOCKS_MODE_SHARED)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_MODE, "s", "shared");
    if (r >= 0 && options->if_available)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_IF_AVAILABLE, "b", 1);
    if (r >= 0 && options->steal)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_STEAL, "b", 1);
    if (r >= 0 && options->signal)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_SIGNAL, "b", 1);
    if (r >= 0 && timeout_ms > 0)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_TIMEOUT, "u", timeout_ms);
    if (r >= 0 && options->why != NULL)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_WHY, "s", options->why);
    return r < 0 ? r : sd_bus_message_close_container(message);
}

static void
request_send(Request *self)
{
    g_autoptr(SdBusMessage) message = NULL;
    GError *error = NULL;
    int r;

    self->n_attempts++;
    if (connection_open(self->connection, &error)) {
        message = call_new_to_bucket(self->connection, self->path, "Request");
        r = sd_bus_message_append_basic(message, 's', self->name);
        if (r >= 0)
            r = append_options(message, self);
        if (r < 0)
            error = error_new_from_errno(r);
        else
            self->call = call_send(self->connection, message,
                                   self->is_known ? CALL_REQUEST_AGAIN : CALL_REQUEST, on_answered,
                                   self, &error);
    }
    if (error != NULL)
        request_fail(self, error);
}

void
request_start(Connection *connection,
              const char *path,
              const char *name,
              const RequestOptions *options,
              Ticket *ticket)
{
    Request *self = g_new0(Request, 1);

    self->connection = connection_ref(connection);
    self->path = g_strdup(path);
    self->name = g_strdup(name);
    request_options_copy(&self->options, options);
    self->began_us = g_get_monotonic_time();
    self->entry.funcs = &request_funcs;
    self->key = connection_next_key(connection);
    resync_add_key(connection_get_resync(connection), &self->key);
    if (ticket_listen(ticket, on_cancelled, self)) {
        self->ticket = ticket;
        request_send(self);
    } else {
        request_free(self);
    }
}
