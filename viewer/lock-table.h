/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The locks and requests of a monitor as two lists of entries, each with its resource, and the
 * history of what has happened since the lists were first filled.
 *
 * The table follows the lists of the monitor: each item has one entry, at the same position. The
 * entries end with the table. */

#pragma once

#include "application-list.h"

typedef struct ViewerLockTable ViewerLockTable;

/* The entries of one of the monitor's two lists: at each position the entry of the item there. */
typedef struct {
    ViewerLockTable *table;
    GListModel *infos;
    GListStore *entries;
} ViewerLockTableSide;

/* Others only read the members. */
struct ViewerLockTable {
    WebLocksMonitor *monitor;
    ViewerApplicationList *list; /* borrowed */
    ViewerLockTableSide held;
    ViewerLockTableSide pending;
    GListStore *history;
    gboolean has_history; /* what comes and goes is an event */
};

/* The entries are shown in `list`, which outlives the table. */
ViewerLockTable *viewer_lock_table_new(WebLocksMonitor *monitor, ViewerApplicationList *list);
void viewer_lock_table_free(ViewerLockTable *self);
/* After a change of what the list shows. */
void viewer_lock_table_filter(ViewerLockTable *self);
