/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The time of the core, and the timer for what expires. */

#pragma once

#include "client.h"

/* Sets the core's time, and ends what has expired: what is held under permits of the cluster, and
 * pending requests. Has to be called before every operation of the core, so that none can grant a
 * request whose time has passed, even if the timer could not be served yet. Effects of earlier
 * operations are notified, so those of the next one are its own. */
void clock_tick(Server *server);

/* Creates and frees the timer, `deadline_source`. */
void clock_start(Server *server);
void clock_stop(Server *server);

/* For the end of a turn: sets the timer for the next time-out. */
void clock_arm(Server *server);
