/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flow control of clients on the bus: which of its messages a client has read.
 *
 * Unread messages are queued in the bus, which doesn't report that; a bus with too many of them
 * drops messages or stops reading from the service. So after some messages a client is sent a Ping,
 * to which its D-Bus library replies; the reply, or an error, acknowledges everything sent before.
 * If too much is unacknowledged, the client's calls on the bus are deferred. There is no time
 * limit: a stopped client keeps its locks.
 *
 * A synchronous caller (a program that makes one blocking call after the other, and dispatches
 * nothing meanwhile) does not answer a Ping. It is recognized by the one reply that it waits for,
 * and gets an allowance, which is bounded.
 *
 * When a reply makes calls servable again, the client is made runnable. */

#pragma once

#include <glib.h>

#include "client.h"
#include "outbox.h"
#include "sd-bus.h"

/* What the flow control of all clients shares. */
typedef struct {
    sd_bus *bus;          /* borrowed */
    const Outbox *outbox; /* borrowed */
    GQueue to_ping; /* of FlowControl: clients to which a Ping is sent at the end of the turn */
} FlowControls;

struct FlowControl {
    FlowControls *all; /* borrowed */
    Client *client;    /* borrowed */
    guint n_sent;      /* unacknowledged messages; a large one counts as more than one */
    guint n_watched;   /* of these: signals of watched buckets */
    guint n_sent_before_ping;
    guint n_watched_before_ping;
    sd_bus_slot *ping; /* the pending Ping; NULL: none */
    guint ping_again_id;
    gboolean wants_ping; /* it is in FlowControls.to_ping */
    gboolean is_refused; /* the bus has refused the last Ping for lack of resources */
    gboolean is_exempt;  /* served whether or not it reads */
    guint allowance;     /* of a synchronous caller: additional unacknowledged messages allowed */
    guint synchronous_id;
};

void flow_controls_init(FlowControls *all, sd_bus *bus, const Outbox *outbox);

FlowControl *flow_control_new(FlowControls *all, Client *client);
void flow_control_free(FlowControl *self);

/* Counts a message to the client with about `n_bytes` bytes of strings: a reply, an error, a
 * signal, or a reply that sd-bus sends itself. */
void flow_control_add(FlowControl *self, gsize n_bytes);

/* Whether one more signal of a watched bucket may be sent; if so, it is counted. */
gboolean flow_control_admit_watched(FlowControl *self);

/* Whether enough is acknowledged for the signal `Missed`. */
gboolean flow_control_may_tell_missed(const FlowControl *self);

/* Whether too much is unacknowledged, regardless of exemptions and allowances. */
gboolean flow_control_is_behind(const FlowControl *self);

/* Whether the client's calls on the bus have to be deferred because of unacknowledged messages. */
gboolean flow_control_is_full(const FlowControl *self);

/* Sends a Ping in any case, because deferred calls wait for the reply. */
void flow_control_ask(FlowControl *self);

/* Like flow_control_ask(), and checks a little later whether it is a synchronous caller. */
void flow_control_ask_or_allow(FlowControl *self);

/* Stops deferring calls, because the client or the service is about to end. */
void flow_control_exempt(FlowControl *self);

/* Sends the Pings that are due. */
void flow_controls_send_pings(FlowControls *all);
