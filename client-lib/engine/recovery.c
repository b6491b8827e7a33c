/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/engine/recovery.h"

#include <gio/gunixfdlist.h>
#include <glib/gi18n-lib.h>
#include <unistd.h>

#include "client-lib/error-private.h"
#include "common/bus-names.h"

#define RETRY_FIRST_US (1 * G_TIME_SPAN_SECOND)
#define RETRY_LAST_US  (30 * G_TIME_SPAN_SECOND)

/* How many consecutive times OpenSocket is called again immediately after a service that is
 * shutting down has refused it. */
#define REFUSALS_MAX 4

/* More live requests than an agent has. */
#define LIVE_ENTRIES_MAX (1U << 20)

typedef enum {
    STATE_CLOSED,
    STATE_OPENING, /* waits for the reply to OpenSocket, maybe until the bus is connected */
    STATE_LISTING, /* waits for LIVE */
    STATE_OPEN,
    STATE_REPLACING, /* open, but nothing is sent any more: OpenSocket has been called for another
                      */
    STATE_WAITING,   /* waits for the next attempt */
} State;

struct Recovery {
    Session *session;
    Bus *bus;
    const RecoveryFuncs *funcs;
    gpointer data;

    State state;
    BusCall *call;
    gboolean is_prepared; /* OpenSocket doesn't start the service */
    gboolean wants_cells; /* the next socket is opened with them */
    gboolean has_asked;   /* this socket was, or the one that replaces it is */
    gboolean has_reply;   /* to the OpenSocket that has replaced this socket */
    PacketSocket *socket;
    GArray *live; /* of PacketLiveEntry */
    Cells *cells;
    int cells_fd;                     /* the page of this socket, until it is mapped; -1: none */
    PacketClosedReason closed_reason; /* 0: none */
    gboolean has_answered;            /* the service has sent a message on this socket */

    SessionTimer retry;
    gint64 delay_us;      /* the last retry interval; 0: the last attempt was successful */
    gint64 tried_us;      /* when the last attempt began */
    gboolean is_changing; /* the service is shutting down: a change of the name's owner follows */
    guint n_refusals;     /* consecutive */
};

static void try_now(Recovery *self);
static void on_ended(gboolean was_read, gpointer data);

static void
set_state(Recovery *self, State state)
{
    session_stop_timer(self->session, &self->retry);
    self->state = state;
}

PacketSocket *
recovery_get_socket(Recovery *self)
{
    return self->state == STATE_OPEN ? self->socket : NULL;
}

/* ---- failed attempts */

static void
wait_until(Recovery *self, gint64 due_us)
{
    set_state(self, STATE_WAITING);
    session_start_timer(self->session, &self->retry, due_us);
}

static void
on_retry(gpointer data)
{
    Recovery *self = data;

    self->state = STATE_CLOSED;
    if (self->funcs->is_needed(self->data))
        try_now(self);
}

/* Reports the failure, which completes some calls. If a socket is still needed, retries later. */
static void
fail(Recovery *self, const GError *error, gboolean is_temporary)
{
    self->delay_us = CLAMP(self->delay_us * 2, RETRY_FIRST_US, RETRY_LAST_US);
    wait_until(self, g_get_monotonic_time() + self->delay_us);
    self->funcs->failed(error, is_temporary, self->data);
    if (self->state == STATE_WAITING && !self->funcs->is_needed(self->data))
        set_state(self, STATE_CLOSED);
}

/* ---- OpenSocket */

/* Returns a descriptor of the reply, or -1. */
static int
take_descriptor(GDBusMessage *reply, gint32 handle)
{
    GUnixFDList *fds = g_dbus_message_get_unix_fd_list(reply);

    if (fds == NULL || handle < 0 || handle >= g_unix_fd_list_get_length(fds))
        return -1;
    return g_unix_fd_list_get(fds, handle, NULL);
}

static void
set_cells_fd(Recovery *self, int fd)
{
    if (self->cells_fd >= 0)
        close(self->cells_fd);
    self->cells_fd = fd;
}

/* Returns the socket, or -1. */
static int
read_reply(Recovery *self, GDBusMessage *reply, guint32 *out_packet_max)
{
    GVariant *body = g_dbus_message_get_body(reply);
    g_autoptr(GVariant) parameters = NULL;
    guint32 version = 0;
    gint32 handle, cells = -1;

    if (body == NULL || !g_variant_is_of_type(body, G_VARIANT_TYPE("(ha{sv})")))
        return -1;
    g_variant_get(body, "(h@a{sv})", &handle, &parameters);
    if (!g_variant_lookup(parameters, BUS_PARAMETER_VERSION, "u", &version) ||
        version < PACKET_VERSION_MIN || version > PACKET_VERSION ||
        !g_variant_lookup(parameters, BUS_PARAMETER_MAX_PACKET, "u", out_packet_max))
        return -1;
    g_variant_lookup(parameters, BUS_PARAMETER_CELLS, "h", &cells);
    set_cells_fd(self, take_descriptor(reply, cells));
    return take_descriptor(reply, handle);
}

static void
take_socket(Recovery *self, GDBusMessage *reply)
{
    guint32 packet_max = 0;
    int fd = read_reply(self, reply, &packet_max);

    if (fd >= 0 && packet_socket_open(self->socket, fd, packet_max)) {
        g_array_set_size(self->live, 0);
        self->closed_reason = 0;
        self->has_answered = FALSE;
        set_state(self, STATE_LISTING);
    } else {
        g_autoptr(GError) error = error_new_unreadable();

        fail(self, error, FALSE);
    }
}

/* If the service has just ended or is shutting down, the next attempt is made immediately: the bus
 * starts the next instance. */
static void
take_failure(Recovery *self, BusOutcome outcome, const GError *error)
{
    const gboolean is_first = self->delay_us == 0;

    self->is_changing = outcome == BUS_LEAVING || outcome == BUS_UNANSWERED;
    self->n_refusals = outcome == BUS_LEAVING ? self->n_refusals + 1 : 0;
    if (outcome == BUS_UNANSWERED && is_first) {
        self->delay_us = 1; /* retry immediately, but only once */
        try_now(self);
        return;
    }
    fail(self, error,
         outcome == BUS_UNANSWERED || outcome == BUS_TIMED_OUT ||
             (outcome == BUS_LEAVING && self->n_refusals < REFUSALS_MAX));
}

/* The service has closed the socket before it replied, after everything that it had sent there. */
static void
take_replacement(Recovery *self, GDBusMessage *reply)
{
    self->has_reply = TRUE;
    packet_socket_read(self->socket);
    self->has_reply = FALSE;
    if (self->state == STATE_OPENING && self->call == NULL)
        take_socket(self, reply);
    else if (self->state == STATE_REPLACING)
        packet_socket_shut_down(self->socket);
}

static void
on_opened(BusOutcome outcome, GDBusMessage *reply, const GError *error, gpointer data)
{
    Recovery *self = data;

    self->call = NULL;
    if (self->state == STATE_REPLACING) {
        if (outcome == BUS_ANSWERED)
            take_replacement(self, reply);
        else
            packet_socket_shut_down(self->socket); /* then the next one is opened as after an EOF */
        return;
    }
    self->state = STATE_CLOSED;
    if (outcome == BUS_ANSWERED) {
        take_socket(self, reply);
    } else if (outcome == BUS_ABSENT && self->is_prepared) {
        if (self->funcs->is_needed(self->data))
            try_now(self);
    } else if (outcome != BUS_ENDED) {
        take_failure(self, outcome, error);
    }
}

/* `state`: OPENING or REPLACING. */
static void
open_socket(Recovery *self, State state, gboolean is_prepared)
{
    BusMessage message = {BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "OpenSocket"};
    GVariantBuilder options;

    set_state(self, state);
    self->is_prepared = message.no_auto_start = is_prepared;
    self->tried_us = g_get_monotonic_time();
    g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
    self->has_asked = self->wants_cells;
    g_variant_builder_add(
        &options, "{sv}", BUS_OPTION_VERSION,
        g_variant_new_uint32(self->wants_cells ? PACKET_VERSION : PACKET_VERSION_MIN));
    message.body = g_variant_new("(a{sv})", &options);
    self->call = bus_call(self->bus, &message, ANSWER_TIMEOUT_US, on_opened, self);
}

/* Only in the states CLOSED and WAITING. */
static void
try_now(Recovery *self)
{
    g_autoptr(GError) error = NULL;

    set_state(self, STATE_CLOSED);
    if (bus_connect(self->bus, &error))
        open_socket(self, STATE_OPENING, FALSE);
    else
        self->funcs->failed(error, FALSE, self->data);
}

void
recovery_need(Recovery *self)
{
    if (self->state == STATE_CLOSED || self->state == STATE_WAITING)
        try_now(self);
}

void
recovery_prepare(Recovery *self)
{
    const gboolean may_run = !bus_is_connected(self->bus) || bus_get_owner(self->bus) != NULL;

    if (self->state == STATE_CLOSED && bus_is_opened(self->bus) && may_run)
        open_socket(self, STATE_OPENING, TRUE);
}

/* With a new owner, OpenSocket may succeed. Without an owner, the bus can start the next
 * instance. */
void
recovery_owner_changed(Recovery *self)
{
    if (self->state != STATE_WAITING || (bus_get_owner(self->bus) == NULL && !self->is_changing))
        return;
    self->is_changing = FALSE;
    try_now(self);
}

/* ---- the socket */

/* Whether this socket was opened before cells were wanted. */
static gboolean
lacks_cells(const Recovery *self)
{
    return self->wants_cells && !self->has_asked;
}

/* The service closes this socket when it opens the other one, so what happens until then is told on
 * this one, and LIVE has what is so from then on. Calls wait for the other one. */
void
recovery_want_cells(Recovery *self)
{
    self->wants_cells = TRUE;
    if (self->state == STATE_OPEN && lacks_cells(self))
        open_socket(self, STATE_REPLACING, TRUE);
}

static void
take_live(Recovery *self, const PacketLive *live)
{
    g_array_append_vals(self->live, live->entries, live->n_entries);
    if (self->live->len > LIVE_ENTRIES_MAX) {
        g_debug("the lock service sent a list of live requests that is too long");
        g_array_set_size(self->live, 0);
        packet_socket_close(self->socket);
        on_ended(FALSE, self);
        return;
    }
    if (live->more)
        return;
    if (lacks_cells(self)) {
        packet_socket_close(self->socket);
        try_now(self);
        return;
    }
    set_state(self, STATE_OPEN);
    self->delay_us = 0;
    self->n_refusals = 0;
    self->funcs->opened((const PacketLiveEntry *)(const void *)self->live->data, self->live->len,
                        self->data);
}

static void
on_message(const PacketHead *message, gpointer data)
{
    Recovery *self = data;

    if (message->kind == PACKET_CLOSED) {
        self->closed_reason = (PacketClosedReason)((const PacketClosed *)message)->reason;
    } else if (message->kind == PACKET_LIVE && self->state == STATE_LISTING) {
        take_live(self, (const PacketLive *)message);
    } else if (self->state == STATE_OPEN || self->state == STATE_REPLACING) {
        self->has_answered = TRUE;
        self->funcs->message(message, self->data);
    }
}

static void
finish(Recovery *self)
{
    g_autoptr(GError) error = error_new_unavailable(
        self->closed_reason == PACKET_CLOSED_REPLACED
            ? _("another user of the same bus connection has opened a lock socket")
            : _("the lock service did not accept a packet, and has terminated the agent"));

    self->funcs->finished(error, self->data);
}

/* Whether the service ended without sending anything on this socket. Then our messages may be the
 * cause. */
static gboolean
is_suspect(const Recovery *self)
{
    return self->closed_reason != PACKET_CLOSED_SHUTDOWN && !self->has_answered &&
           packet_socket_count_sent(self->socket) > 0;
}

static void
open_again(Recovery *self, gboolean was_open)
{
    const gint64 next_us = self->tried_us + RETRY_FIRST_US;

    self->is_changing = FALSE;
    if (!was_open) {
        g_autoptr(GError) error = error_new_unavailable(_("the lock service closed the socket"));

        fail(self, error, TRUE);
    } else if (is_suspect(self) && g_get_monotonic_time() < next_us) {
        wait_until(self, next_us);
    } else {
        try_now(self);
    }
}

static void
on_ended(gboolean was_read, gpointer data)
{
    Recovery *self = data;
    const gboolean was_replacing = self->state == STATE_REPLACING;
    const gboolean was_open = was_replacing || self->state == STATE_OPEN;
    const gboolean was_replaced = self->closed_reason == PACKET_CLOSED_REPLACED;

    if (was_replacing && was_replaced && (self->call != NULL || self->has_reply)) {
        set_state(self, STATE_OPENING);
        self->funcs->ended(FALSE, self->data);
        return;
    }
    g_clear_pointer(&self->call, bus_call_forget);
    set_state(self, STATE_CLOSED);
    if ((was_replaced && !was_replacing) || self->closed_reason == PACKET_CLOSED_MALFORMED) {
        finish(self);
        return;
    }
    self->funcs->ended(was_read && self->closed_reason == PACKET_CLOSED_SHUTDOWN, self->data);
    if (self->state == STATE_CLOSED && self->funcs->is_needed(self->data))
        open_again(self, was_open);
}

Cells *
recovery_get_cells(Recovery *self)
{
    return self->cells;
}

void
recovery_map_cells(Recovery *self)
{
    cells_map(self->cells, self->cells_fd);
    self->cells_fd = -1;
}

guint64
recovery_count_sent(const Recovery *self)
{
    return packet_socket_count_sent(self->socket);
}

void
recovery_read(Recovery *self)
{
    packet_socket_read(self->socket);
}

/* ---- life */

Recovery *
recovery_new(Session *session, Bus *bus, const RecoveryFuncs *funcs, gpointer data)
{
    static const PacketSocketFuncs socket_funcs = {on_message, on_ended};
    Recovery *self = g_new0(Recovery, 1);

    self->session = session;
    self->bus = bus;
    self->funcs = funcs;
    self->data = data;
    self->socket = packet_socket_new(session, &socket_funcs, self);
    self->live = g_array_new(FALSE, FALSE, sizeof(PacketLiveEntry));
    self->cells = cells_new();
    self->cells_fd = -1;
    self->retry.expired = on_retry;
    self->retry.data = self;
    return self;
}

void
recovery_close(Recovery *self)
{
    g_clear_pointer(&self->call, bus_call_forget);
    packet_socket_close(self->socket);
    set_state(self, STATE_CLOSED);
    self->delay_us = 0;
}

void
recovery_free(Recovery *self)
{
    recovery_close(self);
    packet_socket_free(self->socket);
    g_array_unref(self->live);
    set_cells_fd(self, -1);
    cells_unref(self->cells);
    g_free(self);
}
