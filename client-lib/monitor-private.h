/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Monitors of one name, with which a WebLocksClaim shows what it waits for. */

#pragma once

#include <weblocks/weblocks.h>

/* As web_locks_monitor_new_for_name(), but the lists change in `context`. */
WebLocksMonitor *
web_locks_monitor_new_of_name(WebLocksManager *manager, const char *name, GMainContext *context);
