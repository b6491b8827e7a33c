/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The methods of org.w3.WebLocks: decode, ask the core, answer.
 *
 * Each serves one call of an identified client: it puts reply and signals into the outbox, or
 * returns negative with `error` set, and then nothing has changed. */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/client.h"

int methods_request(Client *client, sd_bus_message *call, sd_bus_error *error);
int methods_steal(Client *client, sd_bus_message *call, sd_bus_error *error);
int methods_release(Client *client, sd_bus_message *call, sd_bus_error *error);
int methods_abort(Client *client, sd_bus_message *call, sd_bus_error *error);
int methods_query(Client *client, sd_bus_message *call, sd_bus_error *error);
int methods_inspect(Client *client, sd_bus_message *call, sd_bus_error *error);
int methods_watch(Client *client, sd_bus_message *call, sd_bus_error *error);
