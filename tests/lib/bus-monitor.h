/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Checks every message on a bus: the service must never send a broadcast. It works in GDBus's own
 * thread, so it costs the test next to nothing and needs no main loop.
 */

#pragma once

#include <gio/gio.h>

typedef struct BusMonitor BusMonitor;

/* Takes ownership of a connection that is not used otherwise. */
BusMonitor *bus_monitor_new(GDBusConnection *connection);

/* Asserts that there was no broadcast so far: `other` is a connection to the same bus. Does nothing
 * if the bus has ended. */
void bus_monitor_free(BusMonitor *self, GDBusConnection *other);
