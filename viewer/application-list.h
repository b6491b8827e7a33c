/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gio/gio.h>

#include "application.h"

/* Groups a list model of ViewerEntry by application: a list model of ViewerApplication, in the
 * order of their names, of which each has its entries in its own list. Applications without an
 * entry are not in it. At a time, only one application list may fill the entries of an application.
 */

#define VIEWER_TYPE_APPLICATION_LIST (viewer_application_list_get_type())
G_DECLARE_FINAL_TYPE(
    ViewerApplicationList, viewer_application_list, VIEWER, APPLICATION_LIST, GObject)

ViewerApplicationList *viewer_application_list_new(GListModel *entries);
GListModel *viewer_application_list_get_model(ViewerApplicationList *self);
