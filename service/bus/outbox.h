/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is to be sent on a connection at the end of this turn.
 *
 * Nothing goes out while a turn runs: replies and signals tell only what the whole turn has made
 * true and committed. They leave in the order they were put here, as long
 * as sd-bus's own queue to the socket is short: it is never filled up, since then sd-bus would
 * forget messages, ours and its own. */

#pragma once

#include "common/sd-bus.h"

/* About what a message takes besides the strings in it. */
#define OUTBOX_MESSAGE_BYTES 256

typedef struct Outbox Outbox;

/* Of all outboxes of a service. */
typedef struct {
    GQueue outboxes; /* of Outbox: those with something to send at the end of the turn */
    gsize n_bytes;   /* of all that was put into them in this turn, about */
    void (*commit)(gpointer data); /* makes true for good what the messages tell */
    gpointer data;
} Turn;

struct Outbox {
    sd_bus *bus;        /* not ours; NULL when this one has given up */
    guint n_queued_max; /* messages that sd-bus may have waiting for the socket */
    Turn *turn;         /* not ours */
    GList in_turn;      /* by which this one is there, if `data` isn't NULL */
    GArray *messages;   /* of Outgoing, from n_sent on */
    guint n_sent;
    gsize n_bytes;          /* of those, about */
    gsize n_bytes_given;    /* to sd-bus since it had nothing left to write, about */
    gboolean is_backed_up;  /* the last flush left something */
    sd_bus_message *behind; /* given to sd-bus last, if the socket has not taken all of it yet */
    guint retry_id;
    Outbox *instead;                 /* takes the signals, if this one has given up */
    void (*flushed)(Outbox *outbox); /* may be NULL, as may */
    void (*taken)(Outbox *outbox, sd_bus_message *message, gsize n_bytes);
};

void outbox_init(Outbox *outbox, sd_bus *bus, guint n_queued_max, Turn *turn);
void outbox_fini(Outbox *outbox);

/* Takes over the reference. `n_bytes` is about what the strings in it take. */
void outbox_take(Outbox *outbox, sd_bus_message *message, gsize n_bytes);

/* Commits, then sends what there is room for; to be called again whenever something was written. */
void outbox_flush(Outbox *outbox);

/* Messages that sd-bus has not been given. */
guint outbox_get_length(const Outbox *outbox);

/* And those that it has, and the socket has not taken. */
guint64 outbox_count_queued(const Outbox *outbox);

/* And their bytes, about, with those that we have. */
gsize outbox_count_unread(const Outbox *outbox);

/* Whether the socket takes no more now: then no more calls should be read from it. */
gboolean outbox_is_backed_up(const Outbox *outbox);

/* Moves the signals that have not left to another connection. */
void outbox_move_signals(Outbox *outbox, Outbox *to);

/* Nothing more is sent here: the signals that have not left, and all that come, go to another
 * connection. The replies go nowhere: there they would be answers to nothing. */
void outbox_give_up(Outbox *outbox, Outbox *instead);
