/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Resources and entries, of which the lists of the window consist.
 *
 * A resource is a lock name in a bucket; an entry is one held lock or one pending request for it.
 * Entries are created by the lock table (lock-table.h). An entry refers to its resource, and the
 * resource has its entries in two lists, until viewer_entry_end(). One object stands for a resource
 * of a monitor as long as anybody refers to it.
 *
 * An entry exists from the request to its end or grant, or from the grant to the end of the lock.
 * Its details, such as the position in the queue, are properties of its WebLocksLockInfo. */

#pragma once

#include <gio/gio.h>
#include <weblocks/weblocks.h>

#include "application.h"

#define VIEWER_TYPE_RESOURCE (viewer_resource_get_type())
G_DECLARE_FINAL_TYPE(ViewerResource, viewer_resource, VIEWER, RESOURCE, GObject)

#define VIEWER_TYPE_ENTRY (viewer_entry_get_type())
G_DECLARE_FINAL_TYPE(ViewerEntry, viewer_entry, VIEWER, ENTRY, GObject)

/* Others only read the members of these. */

struct _ViewerResource {
    GObject parent_instance;
    WebLocksMonitor *monitor;
    WebLocksManager *manager;
    char *name;
    /* What the window calls it, and where that is: the lock name and the bucket, or the name and
     * the folder of a document. */
    char *title;
    char *place;
    /* Of ViewerEntry; the queue is in the order in which the requests will be granted. */
    GListStore *holders;
    GListStore *queue;
};

struct _ViewerEntry {
    GObject parent_instance;
    ViewerResource *resource;
    ViewerApplication *application;
    WebLocksLockInfo *info; /* the same in the entry of a request and that of its lock */
    gboolean is_held;
    guint64 serial; /* in the order of creation */
    gboolean has_ended;
    gboolean is_shown; /* in a ViewerApplicationList, which sets it */
};

/* Creates the entry of an item of the monitor, at the end of its resource's holders or queue. */
ViewerEntry *viewer_entry_new(WebLocksMonitor *monitor, WebLocksLockInfo *info);
/* Removes it from there. Until then, it and the resource refer to each other. */
void viewer_entry_end(ViewerEntry *self);
/* Looks now for evidence that the holder is stuck; nothing happens for a request. */
void viewer_entry_update_evidence(ViewerEntry *self);
/* A total order, by bucket and name, that stays the same for as long as both exist. */
int viewer_entry_compare(gpointer self, gpointer other);
/* Whether `words`, in lower case, occurs in what a user may look for. */
gboolean viewer_entry_matches(ViewerEntry *self, const char *words);
