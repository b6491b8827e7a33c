/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "end-lock.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "describe.h"

static void
on_ended(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GtkWidget) window = data;
    g_autoptr(GError) error = NULL;
    const int n_ended = web_locks_manager_break_finish(WEB_LOCKS_MANAGER(source), result, &error);
    const char *notice = n_ended > 0 ? _("The lock was ended") : _("The lock had already ended");

    gtk_widget_activate_action(window, "win.notice", "s", n_ended < 0 ? error->message : notice);
}

static void
on_end(GtkWindow *dialog, const char *response, WebLocksLockInfo *info)
{
    web_locks_manager_break_async(web_locks_lock_info_get_manager(info),
                                  web_locks_lock_info_get_name(info), info, NULL, on_ended,
                                  g_object_ref(gtk_window_get_transient_for(dialog)));
}

static char *
build_body(ViewerEntry *entry)
{
    WebLocksLockInfo *info = entry->info;
    g_autofree char *process = viewer_describe_process(info);
    const guint n_waiting = g_list_model_get_n_items(G_LIST_MODEL(entry->resource->queue));
    GString *body = g_string_new(NULL);

    /* Translators: %s is a process, with its id. */
    g_string_append_printf(
        body, _("%s will be told that the lock was stolen. It may lose what it has not saved."),
        process);
    g_string_append_c(body, ' ');
    if (n_waiting == 0)
        g_string_append(body, _("Nobody waits for the lock."));
    else
        g_string_append_printf(body,
                               g_dngettext(NULL, "%u request waits for the lock.",
                                           "%u requests wait for the lock.", n_waiting),
                               n_waiting);
    return g_string_free(body, FALSE);
}

void
viewer_end_lock(GtkWidget *widget, ViewerEntry *entry)
{
    GtkWindow *window = GTK_WINDOW(gtk_widget_get_root(widget));
    WebLocksLockInfo *info = entry->info;
    g_autofree char *body = build_body(entry);
    g_autofree char *heading =
        /* Translators: %s is the name of a lock. */
        g_strdup_printf(_("End the Lock “%s”?"), entry->resource->title);
    GtkWidget *dialog = adw_message_dialog_new(window, heading, body);

    adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "cancel", _("_Cancel"), "end",
                                     _("_End Lock"), NULL);
    adw_message_dialog_set_response_appearance(ADW_MESSAGE_DIALOG(dialog), "end",
                                               ADW_RESPONSE_DESTRUCTIVE);
    adw_message_dialog_set_default_response(ADW_MESSAGE_DIALOG(dialog), "cancel");
    adw_message_dialog_set_close_response(ADW_MESSAGE_DIALOG(dialog), "cancel");
    /* The lock may leave the lists while the question is open. */
    g_object_set_data_full(G_OBJECT(dialog), "info", g_object_ref(info), g_object_unref);
    g_signal_connect(dialog, "response::end", G_CALLBACK(on_end), info);
    gtk_window_present(GTK_WINDOW(dialog));
}
