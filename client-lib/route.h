/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which way messages to the service go: through the bus, or on a private socket, straight to it.
 *
 * The socket is asked for when the connection begins, if somebody serves; when the service is back
 * and in step again; else behind a message. Until it is there all goes by the bus; nothing is ever
 * kept back, since nobody may be there later to send it. The service's answer is the last thing
 * that it sends by the bus. So if nothing was sent since the question, there is one way at a time,
 * and no order to be lost: the socket is the way. Else that socket is only read, and another one
 * asked for later.
 *
 * When the socket ends, or there is none, all goes by the bus; what had no answer is asked again.
 *
 * All of it inside the connection's gate. */

#pragma once

#include "client-lib/wire.h"
#include "common/sd-bus.h"

typedef struct Route Route;

/* Something that the service is to answer. Part of whatever wants the answer. */
typedef struct Letter Letter;
struct Letter {
    /* The answer; as for sd_bus_call_async(). */
    sd_bus_message_handler_t answered;
    /* There won't be one: its way was closed. It may be sent again. */
    void (*unanswered)(gpointer data);
    gpointer data;
    gboolean is_farewell; /* it ends something: no sign that there is more to say */

    /* route.c's */
    guint64 timeout_us;
    SdBusMessage *message; /* of one without an answer */
    sd_bus_slot *slot;
    guint64 sequence; /* on the socket */
    GList link;       /* of those on the socket; `data` is NULL if it isn't */
};

/* `use_socket` FALSE: always through the bus. */
Route *route_new(Connection *connection, gboolean use_socket);
void route_free(Route *self);

/* The private socket. */
Wire *route_get_socket(Route *self);

/* Finishes a handshake that has begun, and takes in what came with it. So to be called before there
 * is a letter: in between is no time for answers to others. */
void route_finish(Route *self);

/* Negative errno: it could not be sent, and nothing will be called. */
int route_send(Route *self, Letter *letter, sd_bus_message *message, guint64 timeout_us);

/* For `answered`, at first. FALSE: it is sd-bus that says so, since the socket has ended; and
 * `unanswered` was called, of all letters there. */
gboolean route_takes_answer(Route *self, const Letter *letter, sd_bus_message *answer);

/* The answer is there, or isn't wanted any more. */
void route_forget(Route *self, Letter *letter);

/* Sends without an answer. What may have been lost with the socket is sent again, if the service is
 * still there. */
void route_send_quietly(Route *self, sd_bus_message *message);

/* Whether an answer came from the private socket, and so from the service. */
gboolean route_is_of_socket(const Route *self, sd_bus_message *answer);

/* The bus has said who we are and who serves. Whether there is something to wait for before the
 * connection is settled: connection_settle(). */
gboolean route_start(Route *self);

/* Whether a socket is asked for: it will be used if nothing is sent now. Not for long. */
gboolean route_is_asking(const Route *self);

/* Takes in what is on the socket: where it meets the bus, it comes first. */
void route_read_socket(Route *self);

/* The service's name has another owner, or none. */
void route_owner_changed(Route *self);

/* It is all over: nothing is sent any more, and nothing called. */
void route_close(Route *self);
