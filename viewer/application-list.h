/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Groups a list model of ViewerEntry by application.
 *
 * The result is a list model of ViewerApplication, sorted by name. Each has its entries in a list
 * of its own, which this object fills; so only one ViewerApplicationList at a time may contain an
 * application. Applications without an entry are not in the list. */

#pragma once

#include <gio/gio.h>

#include "application.h"

#define VIEWER_TYPE_APPLICATION_LIST (viewer_application_list_get_type())
G_DECLARE_FINAL_TYPE(
    ViewerApplicationList, viewer_application_list, VIEWER, APPLICATION_LIST, GObject)

ViewerApplicationList *viewer_application_list_new(GListModel *entries);
GListModel *viewer_application_list_get_model(ViewerApplicationList *self);
