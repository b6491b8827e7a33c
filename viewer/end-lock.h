/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Ending the lock of a holder, after the user has confirmed it in a dialog. The dialog owns what it
 * needs, so the list may change meanwhile. */

#pragma once

#include <gtk/gtk.h>

#include "entry.h"

/* Asks whether the held lock of `entry` is to end and, if so, ends it. Other holders stay. Errors
 * are shown by the action "win.notice" of the window that contains `widget`. */
void viewer_end_lock(GtkWidget *widget, ViewerEntry *entry);
