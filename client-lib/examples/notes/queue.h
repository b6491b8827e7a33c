/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The holder of a lock and the requests that wait for it, for a list view. */

#pragma once

#include <gtk/gtk.h>
#include <weblocks/weblocks.h>

/* Returns a list of WebLocksLockInfo: first the holder, then pending requests in queue order. */
GListModel *notes_queue_new(WebLocksMonitor *monitor);

/* Returns the application and the process, such as "Text Editor (pid 12)". */
char *notes_describe(WebLocksLockInfo *info);
