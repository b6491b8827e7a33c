/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The methods of org.w3.WebLocks.Service. */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/client.h"

/* Like those in methods.h. */
int service_methods_buckets(Client *client, sd_bus_message *call, sd_bus_error *error);
int service_methods_resync(Client *client, sd_bus_message *call, sd_bus_error *error);
int service_methods_open_peer(Client *client, sd_bus_message *call, sd_bus_error *error);
