/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#include <adwaita.h>

#include "lock-table.h"

/* The page of one lock: who holds it, who waits for it, and what has happened to it. */

#define VIEWER_TYPE_LOCK_PAGE (viewer_lock_page_get_type())
G_DECLARE_FINAL_TYPE(ViewerLockPage, viewer_lock_page, VIEWER, LOCK_PAGE, AdwBin)

/* Shows a resource of the table, until another one or NULL is shown. */
void viewer_lock_page_show(ViewerLockPage *self,
                           ViewerResource *resource,
                           ViewerLockTable *table,
                           GBusType bus_type);
void viewer_lock_page_show_nothing(ViewerLockPage *self);
