/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus connection with the target at its other end: data that the target writes there is what the
 * bus sends. */

#pragma once

#include "common/sd-bus.h"

/* A connection on which the handshake is complete; it sends no Hello and adds no match rules.
 * `*out_fd` is the bus's end, without data. */
sd_bus *fuzz_bus_new(int *out_fd);
