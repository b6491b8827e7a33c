/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* weblocks-two-windows FILE: an application with a single instance, which opens another window each
 * time it is called. Of the windows with one document only one can edit it, whether they belong to
 * this application or to another one that uses the same bucket, such as weblocks-notes.
 *
 * There is no code for that but property bindings. The claim ends with its window. */

#include <glib/gi18n.h>
#include <gtk/gtk.h>
#include <weblocks/weblocks.h>

/* The title is made of `held`. */
static gboolean
make_title(GBinding *binding, const GValue *held, GValue *title, gpointer name)
{
    const char *state = g_value_get_boolean(held) ? _("Editing") : _("Read only");

    g_value_take_string(title, g_strdup_printf("%s – %s", (const char *)name, state));
    return TRUE;
}

static void
on_take_over(GtkButton *button, gpointer claim)
{
    web_locks_claim_take_over_async(claim, NULL, NULL, NULL);
}

static WebLocksClaim *
claim_new(GFile *file)
{
    WebLocksClaim *claim = web_locks_claim_new_for_file(NULL, file);

    web_locks_claim_set_reclaim(claim, TRUE);
    return claim;
}

static void
open_window(GtkApplication *application, GFile *file)
{
    g_autoptr(WebLocksClaim) claim = claim_new(file);
    GtkWidget *window = gtk_application_window_new(application);
    GtkWidget *view = gtk_text_view_new(), *bar = gtk_header_bar_new();
    GtkWidget *take_over = gtk_button_new_with_mnemonic(_("_Take over"));
    g_autofree char *text = NULL;

    if (g_file_load_contents(file, NULL, &text, NULL, NULL, NULL))
        gtk_text_buffer_set_text(gtk_text_view_get_buffer(GTK_TEXT_VIEW(view)), text, -1);
    gtk_header_bar_pack_start(GTK_HEADER_BAR(bar), take_over);
    gtk_window_set_titlebar(GTK_WINDOW(window), bar);
    gtk_window_set_child(GTK_WINDOW(window), view);
    gtk_window_set_default_size(GTK_WINDOW(window), 360, 240);

    g_object_bind_property(claim, "held", view, "editable", G_BINDING_SYNC_CREATE);
    g_object_bind_property(claim, "held", take_over, "sensitive",
                           G_BINDING_SYNC_CREATE | G_BINDING_INVERT_BOOLEAN);
    g_object_bind_property_full(claim, "held", window, "title", G_BINDING_SYNC_CREATE, make_title,
                                NULL, g_file_get_basename(file), g_free);
    g_signal_connect_object(take_over, "clicked", G_CALLBACK(on_take_over), claim,
                            G_CONNECT_DEFAULT);
    web_locks_claim_start(claim);
    g_object_set_data_full(G_OBJECT(window), "claim", g_steal_pointer(&claim), g_object_unref);
    gtk_window_present(GTK_WINDOW(window));
}

static void
on_open(GtkApplication *application, GFile **files, int n_files)
{
    for (int i = 0; i < n_files; i++)
        open_window(application, files[i]);
}

static void
on_activate(GtkApplication *application)
{
    g_printerr("%s weblocks-two-windows FILE...\n", _("usage:"));
}

int
main(int argc, char **argv)
{
    g_autoptr(GtkApplication) application =
        gtk_application_new("org.w3.WebLocks.TwoWindows", G_APPLICATION_HANDLES_OPEN);

    bindtextdomain(GETTEXT_PACKAGE, EXAMPLES_LOCALEDIR);
    textdomain(GETTEXT_PACKAGE);
    g_signal_connect(application, "activate", G_CALLBACK(on_activate), NULL);
    g_signal_connect(application, "open", G_CALLBACK(on_open), NULL);
    return g_application_run(G_APPLICATION(application), argc, argv);
}
