/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus connection whose other end the target has: what it writes there is what the bus sends. */

#pragma once

#include "common/sd-bus.h"

/* A connection on which the handshake is over; it says no Hello, and asks nobody for matches.
 * `*out_fd` is the bus's end, with nothing in it. */
sd_bus *fuzz_bus_new(int *out_fd);
