/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-page.h"

#include <glib/gi18n.h>

#include "entry-row.h"
#include "history.h"

/* More rows than anybody reads would only be slow. */
#define WAITERS_SHOWN 100

struct _ViewerLockPage {
    AdwBin parent_instance;
    GtkLabel *title;
    GtkLabel *place;
    AdwPreferencesGroup *holders_group;
    AdwPreferencesGroup *queue_group;
    GtkListBox *holders;
    GtkListBox *queue;
    GtkListBox *history;
    GtkWidget *history_group;

    ViewerResource *resource;
};

G_DEFINE_FINAL_TYPE(ViewerLockPage, viewer_lock_page, ADW_TYPE_BIN)

static GtkWidget *
create_entry_row(gpointer entry, gpointer unused)
{
    return viewer_entry_row_new(entry);
}

static GtkWidget *
create_event_row(gpointer event, gpointer unused)
{
    GtkWidget *row = adw_action_row_new();
    g_autofree char *sentence = viewer_event_describe(event);
    g_autofree char *time = viewer_event_format_time(event);

    adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
    adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), sentence);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), time);
    return row;
}

/* Shows the list, or a sentence in its place if it is empty. */
static void
show_group(AdwPreferencesGroup *group, GtkListBox *box, GListModel *list, const char *if_empty)
{
    const gboolean is_empty = g_list_model_get_n_items(list) == 0;

    adw_preferences_group_set_description(group, is_empty ? if_empty : NULL);
    gtk_widget_set_visible(GTK_WIDGET(box), !is_empty);
}

static void
show_groups(ViewerLockPage *self)
{
    show_group(self->holders_group, self->holders, G_LIST_MODEL(self->resource->holders),
               _("Nobody holds this lock."));
    show_group(self->queue_group, self->queue, G_LIST_MODEL(self->resource->queue),
               _("Nobody waits for it."));
}

void
viewer_lock_page_show_nothing(ViewerLockPage *self)
{
    if (self->resource == NULL)
        return;
    gtk_widget_set_visible(adw_bin_get_child(ADW_BIN(self)), FALSE);
    gtk_list_box_bind_model(self->holders, NULL, NULL, NULL, NULL);
    gtk_list_box_bind_model(self->queue, NULL, NULL, NULL, NULL);
    gtk_list_box_bind_model(self->history, NULL, NULL, NULL, NULL);
    g_signal_handlers_disconnect_by_data(G_LIST_MODEL(self->resource->holders), self);
    g_signal_handlers_disconnect_by_data(G_LIST_MODEL(self->resource->queue), self);
    g_clear_object(&self->resource);
}

void
viewer_lock_page_show(ViewerLockPage *self, ViewerResource *resource, GListStore *history)
{
    g_autoptr(GListModel) events = viewer_history_of(history, resource);
    g_autoptr(GtkSliceListModel) queue =
        gtk_slice_list_model_new(g_object_ref(G_LIST_MODEL(resource->queue)), 0, WAITERS_SHOWN);

    viewer_lock_page_show_nothing(self);
    self->resource = g_object_ref(resource);
    gtk_label_set_text(self->title, resource->title);
    gtk_widget_set_tooltip_text(GTK_WIDGET(self->title), resource->name);
    gtk_label_set_text(self->place, resource->place);
    gtk_list_box_bind_model(self->holders, G_LIST_MODEL(resource->holders), create_entry_row, NULL,
                            NULL);
    gtk_list_box_bind_model(self->queue, G_LIST_MODEL(queue), create_entry_row, NULL, NULL);
    gtk_list_box_bind_model(self->history, events, create_event_row, NULL, NULL);
    g_signal_connect_swapped(G_LIST_MODEL(resource->holders), "items-changed",
                             G_CALLBACK(show_groups), self);
    g_signal_connect_swapped(G_LIST_MODEL(resource->queue), "items-changed",
                             G_CALLBACK(show_groups), self);
    g_object_bind_property(events, "n-items", self->history_group, "visible",
                           G_BINDING_SYNC_CREATE);
    gtk_widget_set_visible(adw_bin_get_child(ADW_BIN(self)), TRUE);
    show_groups(self);
}

static void
viewer_lock_page_dispose(GObject *object)
{
    ViewerLockPage *self = VIEWER_LOCK_PAGE(object);

    if (self->history != NULL)
        viewer_lock_page_show_nothing(self);
    G_OBJECT_CLASS(viewer_lock_page_parent_class)->dispose(object);
}

static void
viewer_lock_page_class_init(ViewerLockPageClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

    G_OBJECT_CLASS(class)->dispose = viewer_lock_page_dispose;
    gtk_widget_class_set_template_from_resource(widget_class, VIEWER_RESOURCES "lock-page.ui");
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, title);
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, place);
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, holders_group);
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, queue_group);
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, holders);
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, queue);
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, history);
    gtk_widget_class_bind_template_child(widget_class, ViewerLockPage, history_group);
}

static void
viewer_lock_page_init(ViewerLockPage *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
}
