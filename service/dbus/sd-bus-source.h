/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A GSource that runs an sd-bus connection on the default main context.
 *
 * Each dispatch reads and processes a batch of messages. While `may_read` returns FALSE, the source
 * only writes; this is back-pressure against clients that send faster than they read. When the
 * connection ends, `on_closed` is called once, as the last hook, and the source is destroyed. */

#pragma once

#include <glib.h>

#include "sd-bus.h"

typedef struct {
    gboolean (*may_read)(gpointer data);
    void (*on_closed)(gpointer data);
} SdBusSourceHooks;

/* The source owns a reference to `bus` and borrows `hooks`. The caller owns the returned source and
 * ends it by g_source_destroy() and g_source_unref(). */
GSource *sd_bus_source_attach(sd_bus *bus, const SdBusSourceHooks *hooks, gpointer data);
