/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The server, which is the service on one bus: creates and connects its parts, and owns them.
 *
 * The path of a call: intake (bus) or scheduler (lock sockets) -> operations -> core -> operations
 * (effects to the store and to messages) -> end of the turn (commit, send). Everything runs in the
 * default main context. client.h has the struct. */

#pragma once

#include "bus.h"
#include "client.h"
#include "core-limits.h"
#include "sd-bus.h"

typedef struct {
    gboolean replace;            /* take the name from an instance that has this option too */
    const char *state_directory; /* NULL: there is no stored state */
    gboolean offers_cells;       /* clients can have cells: cell-offers.h */
    double idle_exit_secs;       /* 0: never */
    gboolean serves_groups;      /* this is the system bus: there are buckets of Unix groups */
} ServerOptions;

/* Takes the reference to `bus`, which must be connected or connecting. */
Server *server_new(sd_bus *bus, const Limits *limits, const ServerOptions *options);
void server_free(Server *server);

/* Begins to serve on the bus: see lifecycle.h. May block for some answers of the bus. If that
 * fails, the reason is logged, and server_run() returns immediately. */
void server_start(Server *server);

/* Runs until the service has ended. Returns the exit status of the process. */
int server_run(Server *server);

/* Ends an iteration of the main loop, and with it a turn: commits the changes, sends the output,
 * and does what is only done then.
 *
 * The scheduler ends turns within an iteration, by turn_end(): one between runnable clients and
 * lock sockets, and one after each round of busy sockets. Within a turn, turn_flush() is called
 * where output has to be sent before something else: before a lock socket is closed, and before the
 * machine is suspended. */
void server_end_turn(Server *server);
