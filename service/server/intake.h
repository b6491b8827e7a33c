/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How messages come from the bus: the source that runs the connection on the default main context,
 * and the filter for all messages. The filter decodes calls, finds their client, and serves or
 * defers them. Replies and the bus's own signals are left to sd-bus.
 *
 * Each dispatch reads and processes a batch of messages. While the turn is full, or the bus accepts
 * no more messages, the source only writes; this is back-pressure against clients that send faster
 * than they read. When the connection ends, so does the service (lifecycle_fail). */

#pragma once

#include "bus.h"
#include "client.h"

/* An sd_bus_message_handler_t; `userdata` is the server. */
int intake_on_message(sd_bus_message *message, void *userdata, sd_bus_error *error);

/* The caller owns the source, and ends it by g_source_destroy() and g_source_unref(). */
GSource *intake_attach(Server *server);
