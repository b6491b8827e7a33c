/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The page of one lock: its holders, its queue, and what has happened to it. While it shows a
 * resource, the resource is pinned in its table, so it stays when nobody holds or waits for it any
 * more. */

#pragma once

#include <adwaita.h>

#include "lock-table.h"

#define VIEWER_TYPE_LOCK_PAGE (viewer_lock_page_get_type())
G_DECLARE_FINAL_TYPE(ViewerLockPage, viewer_lock_page, VIEWER, LOCK_PAGE, AdwBin)

/* Shows a resource of the table, until another one or NULL is shown. */
void viewer_lock_page_show(ViewerLockPage *self, ViewerResource *resource, ViewerLockTable *table);
void viewer_lock_page_show_nothing(ViewerLockPage *self);
