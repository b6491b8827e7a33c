/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service on one bus: the connection, the core behind it, and the turns in which it works.
 *
 * A message goes one way: socket -> calls (who asks, what) -> methods (decode) -> core (change
 * state, append effects) -> signals (effects to messages) -> outbox. A turn is one batch of
 * messages, or one timer; bus_service_end_turn() sends what it made true. Everything runs on the
 * default main context, and nothing blocks after bus_service_start(). */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/clients.h"
#include "service/bus/lifecycle.h"
#include "service/bus/outbox.h"
#include "service/bus/watchers.h"
#include "service/core/user-agent.h"

struct BusService {
    sd_bus *bus;
    GSource *bus_source;
    GSource *deadline_source;
    gboolean verbose;
    UserAgent user_agent;
    Outbox outbox;
    Clients clients;
    Watchers watchers;
    Lifecycle lifecycle;
};

/* Takes over the reference on `bus`, which is connected or connecting. */
BusService *bus_service_new(sd_bus *bus, const Limits *limits, const LifecycleOptions *options);
void bus_service_free(BusService *service);

/* Subscribes, puts up the objects, takes the bus name; may block. Negative errno on failure,
 * -EEXIST if somebody else has the name. */
int bus_service_start(BusService *service);

/* Tells the core the time. Before every operation of it. */
void bus_service_tick(BusService *service);

/* Sends what the turn has made true, and sees to the next time-out. */
void bus_service_end_turn(BusService *service);
