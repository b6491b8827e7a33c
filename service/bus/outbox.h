/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is to be sent at the end of this turn.
 *
 * Nothing goes out while a turn runs: replies and signals tell only what the whole turn has made
 * true (and, once there is a store, committed). They leave in the order they were put here, as long
 * as sd-bus's own queue to the socket is short: it is never filled up, since then sd-bus would
 * forget messages, ours and its own. */

#pragma once

#include "common/sd-bus.h"

typedef struct {
    sd_bus *bus;     /* not ours */
    GQueue messages; /* of sd_bus_message */
    guint retry_id;
    gboolean is_backed_up; /* the last flush left something: no more calls should be read */
} Outbox;

void outbox_init(Outbox *outbox, sd_bus *bus);
void outbox_fini(Outbox *outbox);

/* Takes over the reference. */
void outbox_take(Outbox *outbox, sd_bus_message *message);

/* Sends what there is room for; to be called again whenever something was written. */
void outbox_flush(Outbox *outbox);
