/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Messages that are sent by the bus at the end of the turn.
 *
 * They are sent in the order in which they were put here, as long as sd-bus's own queue to the
 * socket is short. That queue is never filled up, because sd-bus drops messages that do not fit,
 * ours and its own. */

#pragma once

#include "sd-bus.h"
#include "turn.h"

/* About what a message takes besides the strings in it. */
#define OUTBOX_MESSAGE_BYTES 256

typedef struct {
    TurnOutput output;
    sd_bus *bus;      /* not owned */
    GArray *messages; /* of OutboxMessage, from n_sent on */
    guint n_sent;
    gsize n_bytes;         /* of those, about */
    gsize n_bytes_given;   /* to sd-bus since it had nothing left to write, about */
    gboolean is_backed_up; /* the last flush left something */
    guint retry_id;
} Outbox;

void outbox_init(Outbox *outbox, sd_bus *bus, Turn *turn);
void outbox_fini(Outbox *outbox);

/* Takes the reference. `n_bytes` is about what the strings in the message take. */
void outbox_put(Outbox *outbox, sd_bus_message *message, gsize n_bytes);

/* Messages that sd-bus has not been given. */
guint outbox_get_length(const Outbox *outbox);

/* Whether the socket takes no more now: then no more calls should be read from it. */
gboolean outbox_is_backed_up(const Outbox *outbox);
