/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions that test-interleavings calls of the library and no application can call. */

#pragma once

#include <weblocks/weblocks.h>

#define CLIENT_BUS_EXPORTED __attribute__((visibility("default")))

/* As the first handle does. */
CLIENT_BUS_EXPORTED void client_bus_share_cells(WebLocksManager *manager);

/* Handles what has arrived. */
CLIENT_BUS_EXPORTED void client_bus_catch_up(WebLocksManager *manager);

/* Waits for something, and handles it, as the main loop of the agent would. */
CLIENT_BUS_EXPORTED void client_bus_wait(WebLocksManager *manager);
