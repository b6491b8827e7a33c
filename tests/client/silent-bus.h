/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus whose process is stopped: the kernel queues connections and what they send, and nothing is
 * answered. Its queue may be full, and then no connection is made. */

#pragma once

#include <gio/gio.h>

typedef struct SilentBus SilentBus;

SilentBus *silent_bus_new(gboolean is_full);
void silent_bus_free(SilentBus *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SilentBus, silent_bus_free)

const char *silent_bus_get_address(const SilentBus *self);

/* Accepts all connections that are queued. Returns how many it has accepted so far, without those
 * that filled the queue. */
guint silent_bus_accept(SilentBus *self);
