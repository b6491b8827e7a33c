/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The locks and requests of a monitor as two lists of entries, each with its resource, and the
 * history of what has happened since the lists were first filled.
 *
 * The table follows the lists of the monitor: each item has one entry, at the same position. It
 * owns the entries and resources, and frees them with itself. */

#pragma once

#include <weblocks/weblocks.h>

#include "entry.h"
#include "history.h"

#define VIEWER_TYPE_LOCK_TABLE (viewer_lock_table_get_type())
G_DECLARE_FINAL_TYPE(ViewerLockTable, viewer_lock_table, VIEWER, LOCK_TABLE, GObject)

/* The entries of one of the monitor's two lists: at each position the entry of the item there. */
typedef struct {
    ViewerLockTable *table;
    GListModel *infos;
    GListStore *entries;
} ViewerLockTableSide;

/* Others only read the members. */
struct _ViewerLockTable {
    GObject parent_instance;
    WebLocksMonitor *monitor;
    GHashTable *resources; /* the set of all ViewerResource, by bucket and name */
    ViewerLockTableSide held;
    ViewerLockTableSide pending;
    ViewerResource *pinned; /* stays in `resources` while it is idle; or NULL */
    GListStore *history;
    gboolean is_filled; /* from then on, what comes is an event */
};

ViewerLockTable *viewer_lock_table_new(WebLocksMonitor *monitor);

/* One resource at a time stays the same object also while nobody holds or waits for it. */
void viewer_lock_table_pin(ViewerLockTable *self, ViewerResource *resource);
void viewer_lock_table_unpin(ViewerLockTable *self);
