/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The filter for all messages from the bus. It decodes calls of the service's interfaces, finds
 * their client, and serves or defers them. All other messages are left to sd-bus: replies,
 * properties, introspection, and calls of unknown methods. */

#pragma once

#include "bus.h"
#include "client.h"

/* An sd_bus_message_handler_t; `userdata` is the server. */
int intake_on_message(sd_bus_message *message, void *userdata, sd_bus_error *error);
