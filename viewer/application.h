/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An application that holds locks or waits for them: all clients of a user, in the same sandbox or
 * in none, that people know by one name. See web_locks_lock_info_get_who().
 *
 * One object stands for an application as long as anybody refers to it. `entries` contains what the
 * list shows of it (see application-list.h), in the order of buckets and lock names. */

#pragma once

#include <gio/gio.h>
#include <weblocks/weblocks.h>

#define VIEWER_TYPE_APPLICATION (viewer_application_get_type())
G_DECLARE_FINAL_TYPE(ViewerApplication, viewer_application, VIEWER, APPLICATION, GObject)

/* Others only read the members. */
struct _ViewerApplication {
    GObject parent_instance;
    char *key; /* in `applications` */
    char *name;
    char *detail; /* "" unless it belongs to another user, or has further details */
    GIcon *icon;
    GListStore *entries;
};

/* Returns: (transfer full): the application that the client of `info` belongs to */
ViewerApplication *viewer_application_of(WebLocksLockInfo *info);

int viewer_application_compare(gpointer self, gpointer other);
