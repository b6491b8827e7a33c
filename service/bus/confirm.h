/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How far a client has read what it is sent.
 *
 * Nobody tells us: what a client doesn't read lies in the bus, and a bus that has too much of it
 * drops messages, or reads no more from us. So after some messages a client is asked by a Ping,
 * which is answered by its D-Bus library; the answer, an error too, says that it has read all that
 * was sent before. Who has too much unread is served no further by the bus: its calls wait
 * (clients.h). There is no time limit: a client that has stopped keeps what it has.
 *
 * There are programs that make one call after the other, wait for each answer, and look at nothing
 * else meanwhile, so not at a Ping either. They are known by the one answer that they await, and
 * none else: they are served on, but not for ever.
 *
 * On the bus everything that is sent to a client counts. A private socket's own bounds do for all
 * but what its client watches; so on each of them only that is counted. One Confirm is about one
 * client on one connection. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/outbox.h"

typedef struct Client Client;
typedef struct Edge Edge;
typedef struct Link Link;

typedef struct {
    Client *client;  /* not ours: owns this, or its private socket does */
    Link *link;      /* not ours */
    guint n_sent;    /* messages by the bus that it has not confirmed; a long one counts as more */
    guint n_watched; /* signals of what it watches, that it has not confirmed */
    guint n_sent_before_ping;
    guint n_watched_before_ping;
    sd_bus_slot *ping; /* its answer is awaited */
    guint ping_again_id;
    gboolean wants_ping; /* it is in Edge.to_ping */
    gboolean is_refused; /* the bus had no room for the last one */
    gboolean is_waived;  /* whatever it has read, it is served */
    guint n_credit;      /* so many more may be unconfirmed, since it calls in step, */
    guint in_step_id;    /* as this will find out */
} Confirm;

void confirm_init(Confirm *confirm, Client *client, Link *link);

/* Nothing is awaited any more. What was not confirmed is forgotten. */
void confirm_clear(Confirm *confirm);

/* The same when its connection ends before the client does; signals go by the bus from here on. */
void confirm_end(Confirm *confirm);

/* On which it is sent signals now. */
Confirm *confirm_of(Client *client);

/* For Outbox.taken of the bus. */
void confirm_count(Outbox *outbox, sd_bus_message *message, gsize n_bytes);

/* Counts what doesn't go through our outbox: what sd-bus answers; or a call that wants no answer
 * and has cost us as much as one that does. */
void confirm_add(Client *client);

/* Whether one more signal of what it watches may be sent to it; and counts that. */
gboolean confirm_admit_watched(Client *client);

/* Whether so much is unread on the bus, whatever follows from it. */
gboolean confirm_is_behind(const Client *client);

/* Whether no more calls by the bus may be served for that. */
gboolean confirm_is_full(const Client *client);

/* Asks it in any case: it waits for that. */
void confirm_ask(Client *client);

/* The same on the connection where it hears of what it watches: it has missed something. */
void confirm_ask_of_watched(Client *client);

/* Like confirm_ask(), and looks a little later whether it calls in step. */
void confirm_ask_or_credit(Client *client);

/* It is about to leave, or we are: what it has not read is no reason to wait any more. */
void confirm_waive(Client *client);

/* Asks those who have been sent much in this turn. */
void confirm_send_pings(Edge *edge);
