/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "entry-row.h"

#include <glib/gi18n.h>

#include "client-lib/evidence/evidence.h"
#include "describe.h"

struct _ViewerEntryRow {
    AdwActionRow parent_instance;
    GtkImage *icon;
    GtkWidget *warning;
    GtkLabel *age;
    GtkWidget *buttons;

    ViewerEntry *entry;
    guint timer;
};

G_DEFINE_FINAL_TYPE(ViewerEntryRow, viewer_entry_row, ADW_TYPE_ACTION_ROW)

/* Another window of the process of this request is told apart by its purpose. */
static const char *
get_name_beside(ViewerEntry *other, ViewerEntry *entry)
{
    WebLocksLockInfo *info = other->info;
    const char *why = web_locks_lock_info_get_why(info);

    return *why != '\0' && web_locks_lock_info_get_who_pid(info) ==
                               web_locks_lock_info_get_who_pid(entry->info)
               ? why
               : other->application->name;
}

/* The applications whose clients block this request: of the same lock, so they are in its lists. */
static char *
describe_blockers(ViewerEntry *entry)
{
    ViewerResource *resource = entry->resource;
    const char *const *ids = web_locks_lock_info_get_blocked_by(entry->info);
    GListModel *lists[] = {G_LIST_MODEL(resource->holders), G_LIST_MODEL(resource->queue)};
    g_autoptr(GPtrArray) names = g_ptr_array_new();

    for (guint list = 0; list < G_N_ELEMENTS(lists); list++) {
        for (guint i = 0; i < g_list_model_get_n_items(lists[list]); i++) {
            g_autoptr(ViewerEntry) other = g_list_model_get_item(lists[list], i);
            const char *name = get_name_beside(other, entry);

            if (other != entry &&
                g_strv_contains(ids, web_locks_lock_info_get_client_id(other->info)) &&
                !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
                g_ptr_array_add(names, (char *)name);
        }
    }
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

/* Adds what there is to say, after the separator. */
static void
add(GString *text, const char *separator, const char *part)
{
    if (*part == '\0')
        return;
    if (text->len > 0)
        g_string_append(text, separator);
    g_string_append(text, part);
}

/* The process, which is not named again if the application is no more than that, and its lock. */
static char *
describe_details(ViewerEntry *entry)
{
    WebLocksLockInfo *info = entry->info;
    ViewerApplication *application = entry->application;
    g_autofree char *process =
        g_str_equal(viewer_get_process(info), application->name)
            ? g_strdup_printf(_("Process %u"), web_locks_lock_info_get_who_pid(info))
            : viewer_describe_process(info);
    g_autofree char *mode = viewer_describe_mode(info);
    GString *text = g_string_new(process);

    add(text, " · ", application->detail);
    add(text, " · ", mode);
    if (web_locks_lock_info_get_held(info)) {
        g_autofree char *number =
            g_strdup_printf("%" G_GUINT64_FORMAT, web_locks_lock_info_get_token(info));
        /* Translators: %s is the number that a resource compares to refuse late writers. */
        g_autofree char *token = g_strdup_printf(_("Token %s"), number);

        add(text, " · ", token);
    }
    return g_string_free(text, FALSE);
}

static void
show_age(ViewerEntryRow *self)
{
    g_autofree char *age = viewer_describe_age(self->entry->info);

    gtk_label_set_text(self->age, age);
}

static void
show(ViewerEntryRow *self)
{
    WebLocksLockInfo *info = self->entry->info;
    ViewerApplication *application = self->entry->application;
    g_autofree char *details = describe_details(self->entry);
    g_autofree char *blockers = describe_blockers(self->entry);
    const char *evidence = evidence_get_text(info);
    g_autoptr(GString) text = g_string_new(evidence);

    add(text, "\n", web_locks_lock_info_get_why(info));
    add(text, "\n", details);
    if (*blockers != '\0') {
        /* Translators: %s is a list of applications. */
        g_autofree char *line = g_strdup_printf(_("Waits for: %s"), blockers);

        add(text, "\n", line);
    }
    adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self), application->name);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(self), text->str);
    show_age(self);
    gtk_widget_set_visible(self->warning, *evidence != '\0');
    gtk_image_set_from_gicon(self->icon, application->icon);
    gtk_widget_set_visible(self->buttons, web_locks_lock_info_get_held(info));
}

static gboolean
on_second(gpointer data)
{
    ViewerEntryRow *self = data;

    show_age(self);
    viewer_entry_update_evidence(self->entry);
    return G_SOURCE_CONTINUE;
}

static void
on_copy(ViewerEntryRow *self)
{
    g_autofree char *command = viewer_build_break_command(self->entry->info);

    gdk_clipboard_set_text(gtk_widget_get_clipboard(GTK_WIDGET(self)), command);
    gtk_widget_activate_action(GTK_WIDGET(self), "win.notice", "s", _("Command copied"));
}

/* ---- ending the lock, after the user has confirmed it: the dialog owns what it needs */

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
on_confirmed(GtkWindow *dialog, const char *response, WebLocksLockInfo *info)
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

static void
on_end(ViewerEntryRow *self)
{
    ViewerEntry *entry = self->entry;
    GtkWindow *window = GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(self)));
    WebLocksLockInfo *info = entry->info;
    g_autofree char *body = build_body(entry);
    g_autofree char *title = viewer_isolate(entry->resource->title);
    g_autofree char *heading =
        /* Translators: %s is the name of a lock. */
        g_strdup_printf(_("End the Lock “%s”?"), title);
    GtkWidget *dialog = adw_message_dialog_new(window, heading, body);

    adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "cancel", _("_Cancel"), "end",
                                     _("_End Lock"), NULL);
    adw_message_dialog_set_response_appearance(ADW_MESSAGE_DIALOG(dialog), "end",
                                               ADW_RESPONSE_DESTRUCTIVE);
    adw_message_dialog_set_default_response(ADW_MESSAGE_DIALOG(dialog), "cancel");
    adw_message_dialog_set_close_response(ADW_MESSAGE_DIALOG(dialog), "cancel");
    /* The lock may leave the lists while the question is open. */
    g_object_set_data_full(G_OBJECT(dialog), "info", g_object_ref(info), g_object_unref);
    g_signal_connect(dialog, "response::end", G_CALLBACK(on_confirmed), info);
    gtk_window_present(GTK_WINDOW(dialog));
}

/* ---- GObject */

GtkWidget *
viewer_entry_row_new(ViewerEntry *entry)
{
    ViewerEntryRow *self = g_object_new(VIEWER_TYPE_ENTRY_ROW, NULL);

    self->entry = g_object_ref(entry);
    self->timer = g_timeout_add_seconds(1, on_second, self);
    g_signal_connect_object(entry->info, "notify", G_CALLBACK(show), self, G_CONNECT_SWAPPED);
    g_signal_connect_object(entry, "evidence-changed", G_CALLBACK(show), self, G_CONNECT_SWAPPED);
    show(self);
    return GTK_WIDGET(self);
}

static void
viewer_entry_row_dispose(GObject *object)
{
    ViewerEntryRow *self = VIEWER_ENTRY_ROW(object);

    g_clear_handle_id(&self->timer, g_source_remove);
    g_clear_object(&self->entry);
    G_OBJECT_CLASS(viewer_entry_row_parent_class)->dispose(object);
}

static void
viewer_entry_row_class_init(ViewerEntryRowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

    G_OBJECT_CLASS(class)->dispose = viewer_entry_row_dispose;
    gtk_widget_class_set_template_from_resource(widget_class, VIEWER_RESOURCES "entry-row.ui");
    gtk_widget_class_bind_template_child(widget_class, ViewerEntryRow, icon);
    gtk_widget_class_bind_template_child(widget_class, ViewerEntryRow, warning);
    gtk_widget_class_bind_template_child(widget_class, ViewerEntryRow, age);
    gtk_widget_class_bind_template_child(widget_class, ViewerEntryRow, buttons);
    gtk_widget_class_bind_template_callback(widget_class, on_copy);
    gtk_widget_class_bind_template_callback(widget_class, on_end);
}

static void
viewer_entry_row_init(ViewerEntryRow *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
}
