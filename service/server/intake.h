/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every message of the bus comes here first: is it a call of the contract, whose is it, and can it
 * be served now? What is no call of the contract is left to sd-bus: replies, properties,
 * introspection, and the refusal of what is wrong. */

#pragma once

#include "server.h"

/* The sd-bus filter; `userdata` is the server. */
int intake_on_message(sd_bus_message *message, void *userdata, sd_bus_error *error);
