/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What all parts of the edge work on: the connection, the core behind it, and the turn.
 *
 * A turn is one batch of messages, or one timer. While it runs, the core is changed and messages
 * are put into the outbox; edge_end_turn() sends them. The parts that keep state of their own are
 * at hand here and made and freed by bus-service.c. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/outbox.h"
#include "service/core/user-agent.h"

typedef struct Clients Clients;
typedef struct Edge Edge;
typedef struct Lifecycle Lifecycle;
typedef struct Watchers Watchers;

struct Edge {
    sd_bus *bus;
    UserAgent user_agent;
    Outbox outbox;
    GSource *deadline_source;       /* ready when the next request times out */
    gboolean verbose;               /* log each call */
    void (*after_send)(Edge *edge); /* the turn's messages are on their way */
    Clients *clients;
    Lifecycle *lifecycle;
    Watchers *watchers;
};

/* Takes over the reference on `bus`. `on_deadline` is called, in a turn of its own, when a request
 * times out. */
void edge_init(Edge *edge, sd_bus *bus, const Limits *limits, void (*on_deadline)(Edge *edge));
void edge_fini(Edge *edge);

/* Tells the core the time. Before every operation of it. */
void edge_tick(Edge *edge);

/* Sends what the turn has made true, and sees to the next time-out. */
void edge_end_turn(Edge *edge);
