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
#define ATTEMPTS_MAX 16

typedef struct {
    LedgerEntry entry;   /* its id is 0 until the service has said it */
    ConnectionPart part; /* while it awaits the service's restart */
    Connection *connection;
    char *path;
    char *owner; /* unique name of the service where it waits */
    char *name;
    RequestOptions options;
    guint64 key; /* unique on this connection */
    guint n_attempts;

    gboolean is_in_ledger;   /* it waits */
    gboolean is_abandoned;   /* and counted as such */
    gboolean awaits_restart; /* it is said again when the service's owner changes */
    Call *call;              /* a Request or an Abort, not answered yet */

    Ticket *ticket; /* NULL: the application has its answer */
} Request;

static void request_send(Request *self);

static void
request_free(Request *self)
{
    g_assert(self->ticket == NULL && self->call == NULL && !self->is_in_ledger);
    if (self->is_abandoned)
        connection_remove_abandoned(self->connection);
    request_options_clear(&self->options);
    g_free(self->path);
    g_free(self->owner);
    g_free(self->name);
    connection_unref(self->connection);
    g_free(self);
}

/* Frees it if nobody will ask for it any more. */
static void
request_settle(Request *self)
{
    if (self->ticket == NULL && self->call == NULL && !self->is_in_ledger && !self->awaits_restart)
        request_free(self);
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

/* A grant that crosses the cancellation goes back at once. */
static void
request_grant(Request *self, guint64 token)
{
    g_autoptr(Hold) hold = hold_new(self->connection, self->path, self->entry.id, token, self->name,
                                    self->options.mode);

    request_leave_ledger(self);
    if (self->ticket == NULL)
        hold_drop(hold);
    else
        ticket_return_pointer(g_steal_pointer(&self->ticket), web_locks_lock_new(hold),
                              g_object_unref);
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

/* The entry is the first thing in a request. */
static const LedgerEntryFuncs request_funcs = {on_granted, on_ended};

/* ---- abort [4.3] */

static void request_abort(Request *self);

static void
on_aborted(sd_bus_message *reply, const GError *error, gpointer data)
{
    Request *self = data;

    self->call = NULL;
    if (self->is_in_ledger && call_is_unanswered(error)) {
        request_abort(self);
        return;
    }
    /* Whatever it says: had there been a grant, the signal would have come before. */
    request_leave_ledger(self);
    request_settle(self);
}

static void
request_abort(Request *self)
{
    g_autoptr(SdBusMessage) message =
        call_new_to_bucket(self->connection, self->owner, self->path, "Abort");
    g_autoptr(GError) error = NULL;

    if (sd_bus_message_append_basic(message, 't', &self->entry.id) < 0)
        g_assert_not_reached();
    self->call = call_send(self->connection, message, CALL_NO_TIMEOUT, on_aborted, self, &error);
    if (self->call == NULL)
        g_debug("An Abort was not sent: %s", error->message);
}

static Request *
request_stop_awaiting(ConnectionPart *part)
{
    Request *self = (Request *)((char *)part - G_STRUCT_OFFSET(Request, part));

    connection_remove_part(self->connection, part);
    self->awaits_restart = FALSE;
    return self;
}

/* If the service has not answered yet, what it gives will be handed back. */
static void
on_cancelled(gpointer data)
{
    Request *self = data;

    ticket_free(g_steal_pointer(&self->ticket));
    self->is_abandoned = TRUE;
    connection_add_abandoned(self->connection);
    if (self->awaits_restart)
        request_stop_awaiting(&self->part);
    if (self->is_in_ledger)
        request_abort(self);
    request_settle(self);
}

/* ---- request [4.1] */

static void
on_restarted(ConnectionPart *part)
{
    request_send(request_stop_awaiting(part));
}

static void
on_never_restarted(ConnectionPart *part, const GError *error)
{
    request_fail(request_stop_awaiting(part), g_error_copy(error));
}

static gboolean
request_try_again(Request *self, const GError *error)
{
    /* Somebody answered in the service's place. Its own answer is lost; the key brings it back,
     * however often it takes: it may be a lock. */
    if (call_is_unanswered(error)) {
        request_send(self);
        return TRUE;
    }
    /* The service was about to leave, as it does when nobody needs it. The next call after that
     * brings it back. */
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE) &&
        connection_is_open(self->connection) && self->ticket != NULL &&
        self->n_attempts < ATTEMPTS_MAX) {
        self->awaits_restart = TRUE;
        self->part.end = on_never_restarted;
        self->part.owner_changed = on_restarted;
        connection_add_part(self->connection, &self->part);
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
        self->owner = g_strdup(connection_get_owner(self->connection));
        self->entry.funcs = &request_funcs;
        ledger_add(connection_get_ledger(self->connection), &self->entry);
        self->is_in_ledger = TRUE;
        if (self->ticket == NULL)
            request_abort(self);
    }
}

static int
append_options(sd_bus_message *message, const RequestOptions *options, guint64 key)
{
    int r = sd_bus_message_open_container(message, 'a', "{sv}");

    if (r >= 0)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_KEY, "t", key);
    if (r >= 0 && options->mode == WEB_LOCKS_MODE_SHARED)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_MODE, "s", "shared");
    if (r >= 0 && options->if_available)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_IF_AVAILABLE, "b", 1);
    if (r >= 0 && options->steal)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_STEAL, "b", 1);
    if (r >= 0 && options->signal)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_SIGNAL, "b", 1);
    if (r >= 0 && options->timeout_ms > 0)
        r = sd_bus_message_append(message, "{sv}", WIRE_OPTION_TIMEOUT, "u", options->timeout_ms);
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
        message = call_new_to_bucket(self->connection, NULL, self->path, "Request");
        r = sd_bus_message_append_basic(message, 's', self->name);
        if (r >= 0)
            r = append_options(message, &self->options, self->key);
        if (r < 0)
            error = error_new_from_errno(r);
        else
            self->call =
                call_send(self->connection, message, CALL_NO_TIMEOUT, on_answered, self, &error);
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
    self->key = connection_next_key(connection);
    if (ticket_listen(ticket, on_cancelled, self)) {
        self->ticket = ticket;
        request_send(self);
    } else {
        request_free(self);
    }
}
