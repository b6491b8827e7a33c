/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A window with one file: the text, who is editing it, who waits. */

#pragma once

#include <gtk/gtk.h>

/* Also the name of the bucket, so that our lock names can't clash with other programs'. */
#define NOTES_APPLICATION_ID "org.w3.WebLocks.Notes"
#define NOTES_RESOURCES      "/org/w3/WebLocks/Notes/"

#define NOTES_TYPE_WINDOW (notes_window_get_type())
G_DECLARE_FINAL_TYPE(NotesWindow, notes_window, NOTES, WINDOW, GtkApplicationWindow)

NotesWindow *notes_window_new(GtkApplication *application, const char *path);
