/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks-viewer: a window that shows which application holds which lock and who waits for it, and
 * that can end a stuck lock.
 *
 * bus-page.c follows the service on one bus; lock-table.c and application-list.c make the list out
 * of the library's monitor; window.c, bus-page.c and lock-page.c show it. */

#include <adwaita.h>
#include <glib/gi18n.h>
#include <locale.h>

#include "config.h"
#include "window.h"

static void
on_activate(GtkApplication *application)
{
    GtkWindow *window = gtk_application_get_active_window(application);

    gtk_window_present(window != NULL ? window : viewer_window_new(application));
}

static void
on_about(GSimpleAction *action, GVariant *parameter, gpointer application)
{
    adw_show_about_window(gtk_application_get_active_window(application), "application-name",
                          _("Locks"), "application-icon", VIEWER_APPLICATION_ID, "version",
                          WEBLOCKS_VERSION, "developer-name", "The WebLocks for D-Bus authors",
                          "license-type", GTK_LICENSE_LGPL_2_1, NULL);
}

static void
on_quit(GSimpleAction *action, GVariant *parameter, gpointer application)
{
    g_application_quit(application);
}

/* The window shows that the bus has gone; the process is not to go with it. */
static void
on_startup(GApplication *application)
{
    GDBusConnection *connection = g_application_get_dbus_connection(application);

    if (connection != NULL)
        g_dbus_connection_set_exit_on_close(connection, FALSE);
}

int
main(int argc, char **argv)
{
    static const GActionEntry actions[] = {{"about", on_about}, {"quit", on_quit}};
    static const char *const quit_keys[] = {"<Control>q", NULL};
    static const char *const close_keys[] = {"<Control>w", NULL};
    g_autoptr(AdwApplication) application = NULL;

    setlocale(LC_ALL, "");
    bindtextdomain(GETTEXT_PACKAGE, WEBLOCKS_LOCALEDIR);
    bind_textdomain_codeset(GETTEXT_PACKAGE, "UTF-8");
    textdomain(GETTEXT_PACKAGE);

    application = adw_application_new(VIEWER_APPLICATION_ID, G_APPLICATION_DEFAULT_FLAGS);
    g_application_set_resource_base_path(G_APPLICATION(application), VIEWER_RESOURCE_PATH);
    g_action_map_add_action_entries(G_ACTION_MAP(application), actions, G_N_ELEMENTS(actions),
                                    application);
    gtk_application_set_accels_for_action(GTK_APPLICATION(application), "app.quit", quit_keys);
    gtk_application_set_accels_for_action(GTK_APPLICATION(application), "window.close", close_keys);
    g_signal_connect(application, "startup", G_CALLBACK(on_startup), NULL);
    g_signal_connect(application, "activate", G_CALLBACK(on_activate), NULL);
    return g_application_run(G_APPLICATION(application), argc, argv);
}
