/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A row of the page of one lock: a holder, whose lock the user can end, or a request. It owns a
 * reference to its entry. */

#pragma once

#include <adwaita.h>

#include "entry.h"

#define VIEWER_TYPE_ENTRY_ROW (viewer_entry_row_get_type())
G_DECLARE_FINAL_TYPE(ViewerEntryRow, viewer_entry_row, VIEWER, ENTRY_ROW, AdwActionRow)

GtkWidget *viewer_entry_row_new(ViewerEntry *entry);
