/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus that goes no further than a chosen step, and then reads everything and answers nothing. */

#pragma once

#include <gio/gio.h>

typedef enum {
    SILENT_BUS_FULL,    /* its queue of connections is full, and it accepts none */
    SILENT_BUS_ACCEPTS, /* it accepts connections */
    SILENT_BUS_AGREES,  /* it also accepts the authentication */
} SilentBusStep;

typedef struct SilentBus SilentBus;

SilentBus *silent_bus_new(SilentBusStep step, gboolean is_tcp);
void silent_bus_free(SilentBus *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SilentBus, silent_bus_free)

const char *silent_bus_get_address(const SilentBus *self);

/* From now on it accepts connections. */
void silent_bus_accept(SilentBus *self);
/* Returns how many it has accepted, without its own. */
guint silent_bus_count_clients(SilentBus *self);
