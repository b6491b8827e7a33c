/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks every message on a bus: the service must never send a broadcast. It works in GDBus's own
 * thread, so it costs the test next to nothing and needs no main loop.
 */

#pragma once

#include <gio/gio.h>

typedef struct BusMonitor BusMonitor;

/* Takes over a connection that is used for nothing else. */
BusMonitor *bus_monitor_new(GDBusConnection *connection);

/* Asserts that there was none, of all that was sent until now: `other` is a connection to the same
 * bus. A bus that is gone is no matter. */
void bus_monitor_free(BusMonitor *self, GDBusConnection *other);
