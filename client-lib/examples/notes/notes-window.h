/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A window for one file: shows the text, the process that is editing it, and the processes that
 * wait for the lock. */

#pragma once

#include <gtk/gtk.h>

#define NOTES_APPLICATION_ID "org.w3.WebLocks.Notes"
#define NOTES_RESOURCES      "/org/w3/WebLocks/Notes/"

#define NOTES_TYPE_WINDOW (notes_window_get_type())
G_DECLARE_FINAL_TYPE(NotesWindow, notes_window, NOTES, WINDOW, GtkApplicationWindow)

NotesWindow *notes_window_new(GtkApplication *application, GFile *file);
