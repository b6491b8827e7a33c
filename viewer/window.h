/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The window: the locks of the session bus and, where there is one, of the system bus; and the page
 * of one lock in front of them.
 *
 * Its action "win.notice" (s) shows a sentence for some seconds. */

#pragma once

#include <adwaita.h>

#define VIEWER_TYPE_WINDOW (viewer_window_get_type())
G_DECLARE_FINAL_TYPE(ViewerWindow, viewer_window, VIEWER, WINDOW, AdwApplicationWindow)

GtkWindow *viewer_window_new(GtkApplication *application);
