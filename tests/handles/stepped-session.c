/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library's event loop, which yields before it polls. */

#include "tests/handles/sim.h"

#define poll(fds, n, timeout_ms) sim_poll(fds, n, timeout_ms)

#include "client-lib/engine/session.c" /* NOLINT(bugprone-suspicious-include) */
