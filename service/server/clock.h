/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The time of the core, and the time-outs of requests.
 *
 * The core has no clock: it uses the time that clock_tick() has set last, which stays the same
 * during an operation. A timer, owned by the Server, wakes the main loop for the next time-out. */

#pragma once

#include "server.h"

/* Called when the server is created and freed. */
void clock_start(Server *server);
void clock_stop(Server *server);

/* Sets the core's time, and ends what has expired: what is held under permits of the cluster, and
 * pending requests. Has to be called before every operation of the core, so that none can grant a
 * request whose time has passed, even if the timer could not be served yet. */
void clock_tick(Server *server);
