/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The part of the window that shows one bus: the list of locks by application, or the reason why
 * there is none. It follows the service on that bus, and owns the lock table of the monitor there
 * and the lists that are derived from it. */

#pragma once

#include <adwaita.h>

#include "application-list.h"

#define VIEWER_TYPE_BUS_PAGE (viewer_bus_page_get_type())
G_DECLARE_FINAL_TYPE(ViewerBusPage, viewer_bus_page, VIEWER, BUS_PAGE, AdwBin)

/* The signal "opened" (ViewerResource, the history) is emitted when the user wants to see one
 * lock, and "ready" when there is a lock service on the bus. */
GtkWidget *viewer_bus_page_new(GBusType type);
/* Shows only what contains `words`; "" shows all. */
void viewer_bus_page_set_words(ViewerBusPage *self, const char *words);
void viewer_bus_page_set_show(ViewerBusPage *self, ViewerShow show);
