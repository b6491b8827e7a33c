/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A row of the main list: an application, a held lock or request of it, or a request that waits for
 * that lock. Its property "tree-row" is the GtkTreeListRow of one of these, or NULL. */

#pragma once

#include <gtk/gtk.h>

#define VIEWER_TYPE_ROW (viewer_row_get_type())
G_DECLARE_FINAL_TYPE(ViewerRow, viewer_row, VIEWER, ROW, GtkBox)
