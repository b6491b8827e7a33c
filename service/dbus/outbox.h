/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The queue of messages that are sent on the bus at the end of the turn.
 *
 * Messages are sent in order, while sd-bus's own write queue is short. That queue is never filled,
 * because sd-bus drops messages that don't fit. The outbox owns its messages. */

#pragma once

#include "sd-bus.h"
#include "turn.h"

/* The approximate size of a message in addition to its strings. */
#define OUTBOX_MESSAGE_BYTES 256

typedef struct {
    TurnOutput output;
    sd_bus *bus;      /* borrowed */
    GArray *messages; /* of OutboxMessage; those before n_sent have been sent */
    guint n_sent;
    gsize n_bytes;         /* approximate size of the queued messages */
    gsize n_bytes_given;   /* passed to sd-bus since its write queue was last empty */
    gboolean is_backed_up; /* the last flush could not send everything */
    guint retry_id;
} Outbox;

void outbox_init(Outbox *outbox, sd_bus *bus, Turn *turn);
void outbox_fini(Outbox *outbox);

/* Takes the reference to `message`. `n_bytes` is the approximate size of its strings. */
void outbox_put(Outbox *outbox, sd_bus_message *message, gsize n_bytes);

/* Returns the number of messages that have not been passed to sd-bus. */
guint outbox_get_length(const Outbox *outbox);

/* Whether the socket has accepted everything. */
gboolean outbox_is_written(const Outbox *outbox);

/* Whether the socket accepts no more output now. Then no more calls should be read from it. */
gboolean outbox_is_backed_up(const Outbox *outbox);
