/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <gtk/gtk.h>

/* A row of the list: an application, or an entry of it, or a request that waits for that entry. */

#define VIEWER_TYPE_ROW (viewer_row_get_type())
G_DECLARE_FINAL_TYPE(ViewerRow, viewer_row, VIEWER, ROW, GtkBox)

GtkWidget *viewer_row_new(void);
/* Shows this row, whose item is a ViewerApplication or a ViewerEntry; NULL: shows nothing. */
void viewer_row_set_tree_row(ViewerRow *self, GtkTreeListRow *row);
