/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What all parts of the edge work on: the bus, the core behind it, and the turn.
 *
 * A turn is one batch of messages, or one timer. While it runs, the core is changed and messages
 * are put into outboxes; edge_end_turn() commits and sends them. The parts that keep state of their
 * own are at hand here and made and freed by bus-service.c. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"
#include "service/bus/link.h"
#include "service/core/user-agent.h"

typedef struct Clients Clients;
typedef struct Lifecycle Lifecycle;
typedef struct Peers Peers;
typedef struct State State;
typedef struct Watchers Watchers;

struct Edge {
    Link bus_link;
    UserAgent user_agent;
    Turn turn;
    GQueue to_ping;                 /* of Confirm: to be asked at the end of the turn */
    GSource *deadline_source;       /* ready when the next request times out */
    gboolean verbose;               /* log each call */
    void (*after_send)(Edge *edge); /* the turn's messages are on their way */
    Clients *clients;
    Lifecycle *lifecycle;
    Peers *peers;
    Watchers *watchers;
    State *state; /* what survives us; NULL: nothing does */
};

/* Takes over the reference on `bus`. `on_deadline` is called, in a turn of its own, when a request
 * times out. */
void edge_init(Edge *edge, sd_bus *bus, const Limits *limits, void (*on_deadline)(Edge *edge));
void edge_fini(Edge *edge);

/* Tells the core the time. Before every operation of it. */
void edge_tick(Edge *edge);

/* For each message that comes, before it is served. */
void edge_before_message(Edge *edge, sd_bus_message *message);

/* Whether so much is to be sent that no more calls should be served before the turn ends. */
gboolean edge_has_said_enough(const Edge *edge);

/* Commits and sends what the turn has made true, and sees to the next time-out. */
void edge_end_turn(Edge *edge);
