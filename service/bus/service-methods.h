/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* org.w3.WebLocks.Service: what there is to know about the service itself. */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/bus-types.h"

/* Puts the interface up at its path, and `default` below the buckets' as what introspection shows:
 * every bucket path answers, so a list of them would only tell whose are in use. Negative errno on
 * failure. */
int service_methods_export(BusService *service);

/* A CallHandler. */
int service_methods_buckets(Client *client, sd_bus_message *call, sd_bus_error *error);
