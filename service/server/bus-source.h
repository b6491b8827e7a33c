/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A GSource that runs the connection to the bus on the default main context.
 *
 * Each dispatch reads and processes a batch of messages. While the turn is full, or the bus accepts
 * no more messages, the source only writes; this is back-pressure against clients that send faster
 * than they read. When the connection ends, so does the service (lifecycle_bus_lost). */

#pragma once

#include "client.h"

/* The caller owns the source, and ends it by g_source_destroy() and g_source_unref(). */
GSource *bus_source_attach(Server *server);
