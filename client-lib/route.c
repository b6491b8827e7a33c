/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/route.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/connection.h"
#include "common/wire-names.h"

/* How long the service may take to open a socket: somebody may wait for that. Tests that play the
 * service are built with more. */
#ifndef ASK_TIMEOUT_US
#define ASK_TIMEOUT_US (100 * G_TIME_SPAN_MILLISECOND)
#endif

/* How long somebody who wants to send something waits for the end of a handshake that has begun. */
#define HANDSHAKE_US (20 * G_TIME_SPAN_MILLISECOND)

/* At most so many messages go by the bus between two attempts. */
#define MESSAGES_BETWEEN_MAX 1024

typedef enum {
    SOCKET_NONE,      /* to be asked for behind a message */
    SOCKET_HANDSHAKE, /* the way when it is over; till then sd-bus would keep back what is sent */
    SOCKET_OPEN,      /* the way */
    SOCKET_SPOILT,    /* something went by the bus since it was asked for: only to be read */
    SOCKET_REFUSED,   /* by this service */
} SocketState;

struct Route {
    Connection *connection; /* not ours: it has us */
    gboolean use_socket;
    SocketState state;
    sd_bus_slot *asking; /* for a socket */
    gboolean is_spoilt;  /* what is asked for: something was sent by the bus since */
    guint n_between;     /* messages between the last attempt and the next */
    guint n_to_go;       /* of those */
    Wire socket;
    gboolean is_proven; /* an answer has come by the socket */
    char *owner;        /* unique name of the service at its other end */
    guint64 n_sent;     /* on the socket */
    GQueue on_socket;   /* of Letter */
    GQueue quiet;       /* of Letter, sent on the socket; an answer to a later one confirms it */
};

static void ask_again(Route *self);

Route *
route_new(Connection *connection, gboolean use_socket)
{
    Route *self = g_new0(Route, 1);

    self->connection = connection;
    self->use_socket = use_socket;
    return self;
}

void
route_free(Route *self)
{
    g_assert(self->socket.bus == NULL);
    g_free(self);
}

Wire *
route_get_socket(Route *self)
{
    return &self->socket;
}

gboolean
route_is_of_socket(const Route *self, sd_bus_message *answer)
{
    return self->socket.bus != NULL && sd_bus_message_get_bus(answer) == self->socket.bus;
}

/* ---- letters */

static void
letter_enter(Letter *letter, GQueue *queue)
{
    letter->link.data = letter;
    g_queue_push_tail_link(queue, &letter->link);
}

static Letter *
letter_leave_first(GQueue *queue)
{
    GList *link = g_queue_pop_head_link(queue);
    Letter *letter = link->data;

    link->data = NULL;
    return letter;
}

/* Those without an answer are our own. */
static gboolean
letter_is_quiet(const Letter *letter)
{
    return letter->answered == NULL;
}

static void
quiet_letter_free(Letter *letter)
{
    sd_bus_message_unref(letter->message);
    g_free(letter);
}

/* What is for another service is no business of this one. */
static gboolean
is_for_socket(const Route *self, sd_bus_message *message)
{
    const char *destination = sd_bus_message_get_destination(message);

    return self->state == SOCKET_OPEN &&
           (strcmp(destination, WIRE_BUS_NAME) == 0 || strcmp(destination, self->owner) == 0);
}

/* A call that was sent in vain has its number in the wrong series. */
static sd_bus_message *
copy_call(Route *self, sd_bus_message *call)
{
    sd_bus_message *copy = NULL;
    int r = sd_bus_message_new_method_call(
        connection_get_bus(self->connection), &copy, sd_bus_message_get_destination(call),
        sd_bus_message_get_path(call), sd_bus_message_get_interface(call),
        sd_bus_message_get_member(call));

    g_assert(r >= 0);
    if (sd_bus_message_rewind(call, TRUE) < 0 || sd_bus_message_copy(copy, call, TRUE) < 0)
        g_assert_not_reached();
    return copy;
}

static int
send_by(sd_bus *bus, Letter *letter, sd_bus_message *message)
{
    if (letter_is_quiet(letter))
        return sd_bus_send(bus, message, NULL);
    return sd_bus_call_async(bus, &letter->slot, message, letter->answered, letter->data,
                             letter->timeout_us);
}

static int
send_by_bus(Route *self, Letter *letter, sd_bus_message *message)
{
    int r = send_by(connection_get_bus(self->connection), letter, message);

    self->is_spoilt = TRUE;
    if (r >= 0 && !letter_is_quiet(letter) && !letter->is_farewell)
        ask_again(self);
    if (letter_is_quiet(letter))
        quiet_letter_free(letter);
    return r;
}

/* ---- the socket's end */

/* The answers that were on their way won't come; and what was sent quietly may not have been read,
 * which is said again at first, as it was said before them. */
static void
leave_socket(Route *self)
{
    GQueue on_socket = self->on_socket;
    GQueue quiet = self->quiet;

    self->state = self->is_proven || self->state == SOCKET_SPOILT ? SOCKET_NONE : SOCKET_REFUSED;
    g_queue_init(&self->on_socket);
    g_queue_init(&self->quiet);
    for (GList *link = on_socket.head; link != NULL; link = link->next)
        g_clear_pointer(&((Letter *)link->data)->slot, sd_bus_slot_unref);
    wire_close(&self->socket);
    g_clear_pointer(&self->owner, g_free);

    while (!g_queue_is_empty(&quiet)) {
        Letter *letter = letter_leave_first(&quiet);

        send_by_bus(self, letter, letter->message);
    }
    while (!g_queue_is_empty(&on_socket)) {
        Letter *letter = letter_leave_first(&on_socket);

        letter->unanswered(letter->data);
    }
}

static void
on_socket_ended(Wire *socket)
{
    leave_socket((Route *)((char *)socket - G_STRUCT_OFFSET(Route, socket)));
}

/* ---- sending */

static int
send_by_socket(Route *self, Letter *letter, sd_bus_message *message)
{
    g_autoptr(SdBusMessage) copy = NULL;
    int r = send_by(self->socket.bus, letter, message);

    if (r >= 0) {
        letter->sequence = ++self->n_sent;
        letter_enter(letter, letter_is_quiet(letter) ? &self->quiet : &self->on_socket);
        return r;
    }
    if (wire_is_open(&self->socket)) {
        if (letter_is_quiet(letter))
            quiet_letter_free(letter);
        return r;
    }
    leave_socket(self);
    copy = letter_is_quiet(letter) ? sd_bus_message_ref(message) : copy_call(self, message);
    return send_by_bus(self, letter, copy);
}

/* The service was there a moment ago, and takes next to no time for its half. */
static void
finish_handshake(Route *self)
{
    gint64 until_us = g_get_monotonic_time() + HANDSHAKE_US;

    while (self->state == SOCKET_HANDSHAKE) {
        gint64 left_us = until_us - g_get_monotonic_time();
        gint64 ready_us = G_MAXINT64;
        struct pollfd wanted;

        if (wire_process(&self->socket))
            continue;
        wanted = wire_get_poll(&self->socket, &ready_us);
        if (left_us <= 0)
            self->state = SOCKET_SPOILT;
        else if (poll(&wanted, 1, (int)(left_us / 1000) + 1) < 0)
            g_debug("No handshake: %s", g_strerror(errno));
    }
}

void
route_finish(Route *self)
{
    finish_handshake(self);
    wire_read_on(&self->socket);
}

static int
send_letter(Route *self, Letter *letter, sd_bus_message *message)
{
    finish_handshake(self);
    if (self->state == SOCKET_OPEN && !wire_is_open(&self->socket))
        leave_socket(self);
    if (is_for_socket(self, message))
        return send_by_socket(self, letter, message);
    return send_by_bus(self, letter, message);
}

int
route_send(Route *self, Letter *letter, sd_bus_message *message, guint64 timeout_us)
{
    letter->timeout_us = timeout_us;
    return send_letter(self, letter, message);
}

void
route_send_quietly(Route *self, sd_bus_message *message)
{
    Letter *letter = g_new0(Letter, 1);
    int r;

    letter->message = sd_bus_message_ref(message);
    r = send_letter(self, letter, message);
    if (r < 0)
        g_debug("A message was not sent: %s", g_strerror(-r));
}

/* An answer says that all was read that was sent before its question. */
static void
confirm_quiet_letters(Route *self, guint64 sequence)
{
    while (!g_queue_is_empty(&self->quiet) &&
           ((Letter *)self->quiet.head->data)->sequence < sequence)
        quiet_letter_free(letter_leave_first(&self->quiet));
}

void
route_forget(Route *self, Letter *letter)
{
    if (letter->link.data != NULL)
        g_queue_unlink(&self->on_socket, &letter->link);
    letter->link.data = NULL;
    g_clear_pointer(&letter->slot, sd_bus_slot_unref);
}

gboolean
route_takes_answer(Route *self, const Letter *letter, sd_bus_message *answer)
{
    if (!route_is_of_socket(self, answer)) {
        if (connection_believes_signal(self->connection, answer))
            route_read_socket(self);
        return TRUE;
    }
    if (!wire_is_open(&self->socket)) {
        leave_socket(self);
        return FALSE;
    }
    /* sd-bus's own word, when it was tired of waiting. */
    if (sd_bus_message_is_method_error(answer, WIRE_ERROR_NO_REPLY) > 0 ||
        sd_bus_message_is_method_error(answer, WIRE_ERROR_TIMEOUT) > 0)
        return TRUE;
    self->is_proven = TRUE;
    confirm_quiet_letters(self, letter->sequence);
    return TRUE;
}

/* ---- the socket's beginning */

/* sd-bus says so itself. */
static int
on_connected(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Route *self = userdata;

    if (sd_bus_message_is_signal(message, WIRE_LOCAL_NAME, "Connected") <= 0)
        return 0;
    if (self->state == SOCKET_HANDSHAKE) {
        self->state = SOCKET_OPEN;
        self->n_between = self->n_to_go = 0;
    }
    wire_be_fresh(&self->socket);
    return 1;
}

static int
open_socket(Route *self, sd_bus_message *reply)
{
    sd_bus *bus = NULL;
    int received, fd;
    int r = sd_bus_message_read_basic(reply, 'h', &received);

    if (r < 0)
        return r;
    fd = fcntl(received, F_DUPFD_CLOEXEC, 0); /* that one is the message's */
    if (fd < 0)
        return -errno;
    if ((r = sd_bus_new(&bus)) < 0 || (r = sd_bus_set_fd(bus, fd, fd)) < 0) {
        sd_bus_unref(bus);
        close(fd);
        return r;
    }
    if ((r = sd_bus_negotiate_fds(bus, FALSE)) < 0 ||
        (r = sd_bus_set_connected_signal(bus, TRUE)) < 0 ||
        (r = sd_bus_add_filter(bus, NULL, on_connected, self)) < 0 ||
        (r = connection_listen(self->connection, bus)) < 0 || (r = sd_bus_start(bus)) < 0) {
        sd_bus_unref(bus);
        return r;
    }
    wire_open(&self->socket, self->connection, bus, on_socket_ended);
    self->owner = g_strdup(connection_get_owner(self->connection));
    self->is_proven = FALSE;
    self->n_sent = 0;
    return 0;
}

/* The service may be slow, or gone: then it, or the next one, is asked again. Any other error is
 * its refusal. */
static gboolean
is_refusal(sd_bus_message *reply)
{
    static const char *const others[] = {WIRE_ERROR_NO_REPLY, WIRE_ERROR_SERVICE_UNKNOWN,
                                         WIRE_ERROR_NAME_HAS_NO_OWNER, WIRE_ERROR_TIMEOUT};

    if (sd_bus_message_is_method_error(reply, WIRE_ERROR_INVALID_STATE) > 0)
        return FALSE;
    for (guint i = 0; i < G_N_ELEMENTS(others); i++)
        if (sd_bus_message_is_method_error(reply, others[i]) > 0)
            return FALSE;
    return sd_bus_message_is_method_error(reply, NULL) > 0;
}

/* What the service sent before the answer was sent on the old one, which it has closed. */
static void
leave_spoilt_socket(Route *self)
{
    if (self->state != SOCKET_SPOILT)
        return;
    route_read_socket(self);
    if (self->socket.bus != NULL)
        leave_socket(self);
}

static void
take_answer(Route *self, sd_bus_message *reply)
{
    if (is_refusal(reply) && connection_believes_reply(self->connection, reply))
        self->state = SOCKET_REFUSED;
    if (sd_bus_message_is_method_error(reply, NULL) > 0 ||
        !connection_believes_signal(self->connection, reply))
        return;
    leave_spoilt_socket(self);
    if (open_socket(self, reply) < 0)
        self->state = SOCKET_REFUSED;
    else
        self->state = self->is_spoilt ? SOCKET_SPOILT : SOCKET_HANDSHAKE;
}

/* Also for those who wait for it, in whatever thread. */
static void
end_asking(Route *self)
{
    connection_settle(self->connection);
    connection_wires_changed(self->connection);
}

static int
on_asked(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Route *self = userdata;

    g_clear_pointer(&self->asking, sd_bus_slot_unref);
    take_answer(self, reply);
    self->n_between = MIN(self->n_between * 2 + 1, MESSAGES_BETWEEN_MAX);
    self->n_to_go = self->n_between;
    end_asking(self);
    return 1;
}

/* It starts no service: somebody is there, or something else was sent before. */
static gboolean
ask_for_socket(Route *self)
{
    sd_bus *bus = connection_get_bus(self->connection);
    const char *owner = connection_get_owner(self->connection);
    g_autoptr(SdBusMessage) message = NULL;

    if (!self->use_socket || self->asking != NULL ||
        (self->state != SOCKET_NONE && self->state != SOCKET_SPOILT) ||
        sd_bus_can_send(bus, 'h') <= 0)
        return FALSE;
    self->is_spoilt = FALSE;
    return sd_bus_message_new_method_call(bus, &message, owner != NULL ? owner : WIRE_BUS_NAME,
                                          WIRE_SERVICE_PATH, WIRE_SERVICE_INTERFACE,
                                          "OpenPeer") >= 0 &&
           sd_bus_call_async(bus, &self->asking, message, on_asked, self, ASK_TIMEOUT_US) >= 0;
}

/* Not in between what is said again when the service is back: there is a better time soon. */
static void
ask_again(Route *self)
{
    if (connection_get_client_id(self->connection) == NULL)
        return; /* sd-bus would have to wait for the bus to know whether it can */
    if (!resync_is_in_step(connection_get_resync(self->connection)))
        return;
    if (self->n_to_go > 0)
        self->n_to_go--;
    else
        ask_for_socket(self);
}

/* ---- what happens to the connection */

gboolean
route_start(Route *self)
{
    return connection_get_owner(self->connection) != NULL && ask_for_socket(self);
}

gboolean
route_is_asking(const Route *self)
{
    return self->asking != NULL;
}

void
route_read_socket(Route *self)
{
    while (wire_process(&self->socket))
        ;
}

static void
forget_quiet_letters(Route *self)
{
    while (!g_queue_is_empty(&self->quiet))
        quiet_letter_free(letter_leave_first(&self->quiet));
}

/* What was said quietly is a matter of resync.h now. */
void
route_owner_changed(Route *self)
{
    gboolean was_asking = self->asking != NULL;

    g_clear_pointer(&self->asking, sd_bus_slot_unref);
    forget_quiet_letters(self);
    if (self->socket.bus != NULL)
        leave_socket(self);
    self->state = SOCKET_NONE;
    self->n_between = self->n_to_go = 0;
    if (was_asking &&
        (!resync_is_in_step(connection_get_resync(self->connection)) || !route_start(self)))
        end_asking(self);
}

void
route_close(Route *self)
{
    g_assert(g_queue_is_empty(&self->on_socket)); /* parts of what has ended */
    g_clear_pointer(&self->asking, sd_bus_slot_unref);
    forget_quiet_letters(self);
    wire_close(&self->socket);
    g_clear_pointer(&self->owner, g_free);
    self->state = SOCKET_REFUSED;
}
