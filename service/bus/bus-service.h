/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service on one bus: puts the parts of the edge together.
 *
 * A message goes one way: socket -> calls (who asks, may it be served now) -> methods (decode) ->
 * core (change state, append effects) -> announce (effects to the store and to signals) -> commit
 * -> outbox. Everything runs on the default main context, and nothing blocks after
 * bus_service_start(). */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/lifecycle.h"
#include "service/core/limits.h"

typedef struct BusService BusService;

/* Takes over the reference on `bus`, which is connected or connecting. */
BusService *bus_service_new(sd_bus *bus, const Limits *limits, const LifecycleOptions *options);
void bus_service_free(BusService *service);

/* Subscribes, puts up the objects, takes over the state in `state_directory` (NULL: nothing
 * survives us), takes the bus name; may block. Negative errno on failure: -EEXIST if somebody else
 * has the name, -ECANCELED if we were replaced ourselves before we began. */
int bus_service_start(BusService *service, const char *state_directory);

/* Runs until the service has ended; what the process is to exit with. */
int bus_service_run(BusService *service);

/* Ends it, in lifecycle.h's order. */
void bus_service_stop(BusService *service);
