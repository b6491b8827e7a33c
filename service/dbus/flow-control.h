/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flow control of clients on the bus: how far a client has read what it was sent.
 *
 * What a client does not read lies in the bus, which does not tell; and a bus that has too much of
 * it drops messages or stops reading from the service. So after some messages a client is sent a
 * Ping, which its D-Bus library answers; the answer, an error too, acknowledges everything that was
 * sent before. A client with too much unacknowledged is served no further by the bus: its calls are
 * deferred. There is no time limit: a client that is stopped keeps what it has.
 *
 * A synchronous caller (a program that makes one blocking call after the other, and dispatches
 * nothing meanwhile) does not answer a Ping. It is recognized by the one reply that it waits for,
 * and gets an allowance, which is bounded.
 *
 * What becomes possible by an answer is not done here: the client is made runnable. */

#pragma once

#include <glib.h>

#include "client.h"
#include "outbox.h"
#include "sd-bus.h"

/* What the flow control of all clients shares. */
typedef struct {
    sd_bus *bus;          /* not owned */
    const Outbox *outbox; /* not owned */
    GQueue to_ping;       /* of FlowControl: to be sent a Ping at the end of the turn */
} FlowControls;

struct FlowControl {
    FlowControls *all; /* not owned */
    Client *client;    /* not owned */
    guint n_sent;      /* messages that are not acknowledged; a long one counts as more */
    guint n_watched;   /* of these: signals of what the client watches */
    guint n_sent_before_ping;
    guint n_watched_before_ping;
    sd_bus_slot *ping; /* its answer is awaited */
    guint ping_again_id;
    gboolean wants_ping; /* it is in FlowControls.to_ping */
    gboolean is_refused; /* the bus had no room for the last Ping */
    gboolean is_exempt;  /* served whatever it has read */
    guint allowance;     /* of a synchronous caller: so much more may be unacknowledged */
    guint synchronous_id;
};

void flow_controls_init(FlowControls *all, sd_bus *bus, const Outbox *outbox);

FlowControl *flow_control_new(FlowControls *all, Client *client);
void flow_control_free(FlowControl *self);

/* The client is being sent a message with about so many bytes of strings: a reply, an error, a
 * signal; also one that sd-bus sends by itself. */
void flow_control_add(FlowControl *self, gsize n_bytes);

/* Whether one more signal of what the client watches may be sent to it; if so, it is counted. */
gboolean flow_control_admit_watched(FlowControl *self);

/* Whether enough is acknowledged for the signal `Missed`. */
gboolean flow_control_may_tell_missed(const FlowControl *self);

/* Whether so much is unread on the bus, whatever follows from it. */
gboolean flow_control_is_behind(const FlowControl *self);

/* Whether no more calls by the bus may be served because of that. */
gboolean flow_control_is_full(const FlowControl *self);

/* Sends it a Ping in any case, since something waits for the answer. */
void flow_control_ask(FlowControl *self);

/* The same, and finds out a little later whether it is a synchronous caller. */
void flow_control_ask_or_allow(FlowControl *self);

/* The client or the service is about to leave: nothing waits for what has not been read. */
void flow_control_exempt(FlowControl *self);

/* Sends the Pings that are due. */
void flow_controls_send_pings(FlowControls *all);
