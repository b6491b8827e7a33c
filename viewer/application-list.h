/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Groups a list model of ViewerEntry by application.
 *
 * `applications` is a list of ViewerApplication, sorted by name. Each has its entries in a list
 * of its own, which this object fills; so only one ViewerApplicationList at a time may contain an
 * application. Applications without an entry are not in the list. */

#pragma once

#include <gio/gio.h>

#include "application.h"

/* Others only read the members. */
typedef struct {
    GListModel *entries;
    GPtrArray *known; /* the entries as they were at the last change */
    GListStore *applications;
} ViewerApplicationList;

ViewerApplicationList *viewer_application_list_new(GListModel *entries);
void viewer_application_list_free(ViewerApplicationList *self);
