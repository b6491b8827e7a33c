/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Monitors of one resource name, with which a WebLocksRequest shows what it waits for. */

#pragma once

#include <weblocks/weblocks.h>

/* Unlike a public monitor it exists from the beginning, with empty lists. The lists change in
 * `context`; `updated` is called there after each change of both, and sometimes without one. */
WebLocksMonitor *web_locks_monitor_new_of_name(WebLocksManager *manager,
                                               const char *name,
                                               GMainContext *context,
                                               void (*updated)(gpointer data),
                                               gpointer data);

/* Drops the reference. `updated` is not called any more. */
void web_locks_monitor_end(WebLocksMonitor *self);
