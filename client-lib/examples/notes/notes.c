/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks-notes FILE: a notes editor. Any number of instances can have a file open, but only one
 * of them can save it, like the browser tabs in section 1.2 of the standard.
 *
 * A WebLocksClaim determines that instance, queue.c lists the others, fenced-file.c refuses late
 * writes, and notes-window.c is the user interface. */

#include <glib-unix.h>
#include <glib/gi18n.h>

#include "notes-window.h"

static void
on_open(GtkApplication *application, GFile **files, int n_files)
{
    for (int i = 0; i < n_files; i++) {
        if (g_file_peek_path(files[i]) != NULL)
            gtk_window_present(GTK_WINDOW(notes_window_new(application, files[i])));
    }
}

static void
on_activate(GtkApplication *application)
{
    g_printerr("%s weblocks-notes FILE...\n", _("usage:"));
}

static void
on_startup(GtkApplication *application)
{
    g_autoptr(GtkCssProvider) css = gtk_css_provider_new();

    gtk_css_provider_load_from_resource(css, NOTES_RESOURCES "notes.css");
    gtk_style_context_add_provider_for_display(gdk_display_get_default(), GTK_STYLE_PROVIDER(css),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
}

/* Saves the text when the session ends. */
static gboolean
on_sigterm(gpointer application)
{
    g_autoptr(GList) windows = g_list_copy(gtk_application_get_windows(application));

    for (GList *link = windows; link != NULL; link = link->next)
        gtk_window_close(link->data);
    return G_SOURCE_CONTINUE;
}

int
main(int argc, char **argv)
{
    g_autoptr(GtkApplication) application = NULL;

    bindtextdomain(GETTEXT_PACKAGE, EXAMPLES_LOCALEDIR);
    bind_textdomain_codeset(GETTEXT_PACKAGE, "UTF-8");
    textdomain(GETTEXT_PACKAGE);

    /* Every instance is a separate process; this is what the example demonstrates. */
    application = gtk_application_new(NOTES_APPLICATION_ID,
                                      G_APPLICATION_NON_UNIQUE | G_APPLICATION_HANDLES_OPEN);
    g_signal_connect(application, "startup", G_CALLBACK(on_startup), NULL);
    g_signal_connect(application, "activate", G_CALLBACK(on_activate), NULL);
    g_signal_connect(application, "open", G_CALLBACK(on_open), NULL);
    g_unix_signal_add(SIGTERM, on_sigterm, application);
    return g_application_run(G_APPLICATION(application), argc, argv);
}
