/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Flow control of clients on the bus: which of its messages a client has read.
 *
 * Messages that a client does not read stay in the bus; and a bus that has too many of them drops
 * messages or stops reading from the service. So the messages to a client are counted until they
 * are acknowledged, and a client with too many unacknowledged messages is served no further by the
 * bus: its calls are deferred. There is no time limit: a client that is stopped keeps its locks.
 *
 * Two things acknowledge messages. After some messages a client is sent a Ping, which its D-Bus
 * library answers; the answer, an error too, acknowledges everything that was sent before it. A
 * program that only makes blocking calls dispatches nothing and so never answers; then the bus is
 * asked how much it holds for the client (bus-statistics.h), and everything else is acknowledged.
 * What the bus has written to the client's socket is no longer the bus's concern: the kernel bounds
 * that. But file descriptors in such sockets are limited for all clients of the bus together, so
 * messages with one are acknowledged by the answer to a Ping only. So are signals Wanted, of which
 * a client has at most one of each lock to read, also if it is stopped.
 *
 * What an acknowledgement makes possible is not done here: the client is made runnable. */

#pragma once

#include <glib.h>

#include "bus-statistics.h"
#include "client.h"
#include "sd-bus.h"

/* Messages to a client, counted from its first; a long message counts as several. */
typedef struct {
    guint64 n_sent;
    guint64 n_acknowledged;
    guint64 n_sent_before_ping;     /* of those: before the last Ping */
    guint64 n_sent_before_question; /* and before the last question to the bus */
} FlowCount;

struct FlowControl {
    Client *client; /* borrowed */
    FlowCount all_sent;
    FlowCount watched;     /* of these: signals of what the client watches */
    FlowCount descriptors; /* and messages with a file descriptor */
    FlowCount wanted;      /* and signals Wanted */
    sd_bus_slot *ping;     /* its answer is awaited */
    guint ping_again_id;
    gboolean wants_ping; /* it is in Bus.to_ping */
    /* How much the bus holds for the client; these are of bus-statistics.c. */
    GQueue *asked_in; /* the queue it is in, or NULL */
    GList in_asked;
    sd_bus_slot *asked; /* its own reply is awaited */
    guint rest_ms;      /* the pause between two such questions; 0 unless the client did not read */
    guint rest_id;
    gboolean is_exempt; /* served whatever it has read */
};

FlowControl *flow_control_new(Client *client);
void flow_control_free(FlowControl *self);

/* Counts a message to the client with about `n_bytes` bytes of strings: a reply, an error or a
 * signal. */
void flow_control_add(FlowControl *self, gsize n_bytes);

/* The same for a message with a file descriptor. */
void flow_control_add_descriptor(FlowControl *self);

/* Counts a signal Wanted, in addition to flow_control_add(). */
void flow_control_add_wanted(FlowControl *self);

/* Whether all signals Wanted are acknowledged. If not, finds out how far the client has read. */
gboolean flow_control_admits_wanted(FlowControl *self);

/* Whether one more signal of a watched bucket may be sent; if so, it is counted. */
gboolean flow_control_admit_watched(FlowControl *self);

/* Whether enough is acknowledged for the signal `Missed`. */
gboolean flow_control_may_send_missed(const FlowControl *self);

/* Whether too much is unacknowledged, regardless of exemptions. */
gboolean flow_control_is_behind(const FlowControl *self);

/* Whether the client's calls on the bus have to be deferred because of unacknowledged messages. */
gboolean flow_control_is_full(const FlowControl *self);

/* Finds out how far the client has read, even if little is unacknowledged: the caller waits for it
 * to read. */
void flow_control_ask(FlowControl *self);

/* Stops deferring calls, because the client or the service is about to end. */
void flow_control_exempt(FlowControl *self);

/* For bus-statistics.c: the question is about to be sent, behind all messages that were queued
 * before. FALSE: it is no longer needed, and is dropped. And its answer, in which it may be asked
 * again. */
gboolean flow_control_begin_question(FlowControl *self);
void flow_control_on_statistics(FlowControl *self, guint64 n_bytes);

/* Sends the Pings that are due. */
void flow_control_send_pings(Bus *bus);
