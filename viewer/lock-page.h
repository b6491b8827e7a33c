/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The page of one lock: its holders, its queue, and what has happened to it. It stays when nobody
 * holds the lock or waits for it any more. */

#pragma once

#include <adwaita.h>

#include "entry.h"

#define VIEWER_TYPE_LOCK_PAGE (viewer_lock_page_get_type())
G_DECLARE_FINAL_TYPE(ViewerLockPage, viewer_lock_page, VIEWER, LOCK_PAGE, AdwBin)

/* Shows a resource and its events, until another one or NULL is shown. */
void viewer_lock_page_show(ViewerLockPage *self, ViewerResource *resource, GListStore *history);
void viewer_lock_page_show_nothing(ViewerLockPage *self);
