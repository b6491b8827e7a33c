/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How much the bus still holds for a client: bytes of messages that the bus has accepted for the
 * client's connection and could not yet write to its socket. The client need not take part.
 *
 * The interface org.freedesktop.DBus.Debug.Stats of the bus differs: dbus-daemon answers
 * GetConnectionStats, for one connection; dbus-broker answers GetStats, for all connections in one
 * long reply. Which of the two works is found out by trying. A bus may refuse both.
 *
 * Questions are asked in rounds, and there is a pause between two rounds, so that the number of
 * calls is bounded however many clients there are. With GetStats a round is one call, and the pause
 * grows with the number of connections, as the cost of that call does. */

#pragma once

#include <glib.h>

#include "client.h"
#include "sd-bus.h"

/* Passed to flow_control_on_statistics() if the bus did not give the figure. */
#define BUS_STATISTICS_UNKNOWN G_MAXUINT64

typedef enum {
    BUS_STATISTICS_BY_CONNECTION, /* GetConnectionStats; also if nothing is known yet */
    BUS_STATISTICS_OF_ALL,        /* GetStats */
    BUS_STATISTICS_REFUSED,       /* neither */
} BusStatisticsMethod;

typedef struct {
    const Bus *bus; /* borrowed */
    BusStatisticsMethod method;
    GQueue waiting;         /* of FlowControl: for the next round */
    GQueue asked;           /* of FlowControl: in this round */
    sd_bus_slot *all_asked; /* the reply to GetStats is awaited */
    guint n_connections;    /* in the last reply to GetStats */
    guint next_round_id;
} BusStatistics;

void bus_statistics_init(BusStatistics *self, const Bus *bus);
void bus_statistics_fini(BusStatistics *self);

/* Asks for a client in one of the next rounds; `is_first` means before all questions that wait
 * without it. Nothing happens if one for it waits for a round or for an answer already. */
void bus_statistics_ask(BusStatistics *self, FlowControl *flow, gboolean is_first);

/* Before it is freed. */
void bus_statistics_drop(BusStatistics *self, FlowControl *flow);
