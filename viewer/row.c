/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "row.h"

#include <glib/gi18n.h>

#include "application.h"
#include "client-lib/evidence/evidence.h"
#include "describe.h"
#include "entry.h"

#define INDENT_PIXELS 24

struct _ViewerRow {
    GtkBox parent_instance;
    GtkImage *arrow;
    GtkImage *icon;
    GtkLabel *title;
    GtkLabel *subtitle;
    GtkWidget *evidence_box;
    GtkLabel *evidence;
    GtkLabel *state;
    GtkLabel *age;
    GtkWidget *next;

    GtkTreeListRow *row;
    GObject *item;
    gpointer followed; /* the entries of an application, or the info of an entry; borrowed */
    guint timer;
};

G_DEFINE_FINAL_TYPE(ViewerRow, viewer_row, GTK_TYPE_BOX)

static void
set_text(GtkLabel *label, const char *text)
{
    gtk_label_set_text(label, text);
    gtk_widget_set_visible(GTK_WIDGET(label), *text != '\0');
}

/* The list item, which has the focus and so is what a screen reader reads. */
static GtkAccessible *
get_item_widget(ViewerRow *self)
{
    return GTK_ACCESSIBLE(gtk_widget_get_parent(GTK_WIDGET(self)));
}

/* Screen readers read the visible text without the age, which changes each second. */
static void
show_label(ViewerRow *self)
{
    GtkLabel *labels[] = {self->title, self->state, self->subtitle, self->evidence};
    g_autoptr(GString) label = g_string_new(NULL);

    for (guint i = 0; i < G_N_ELEMENTS(labels); i++) {
        const char *text = gtk_label_get_text(labels[i]);

        if (*text != '\0')
            g_string_append_printf(label, "%s%s", label->len > 0 ? ", " : "", text);
    }

    gtk_accessible_update_property(get_item_widget(self), GTK_ACCESSIBLE_PROPERTY_LABEL, label->str,
                                   -1);
}

static void
show_evidence(ViewerRow *self, const char *text)
{
    gtk_label_set_text(self->evidence, text);
    gtk_widget_set_tooltip_text(self->evidence_box, text);
    gtk_widget_set_visible(self->evidence_box, *text != '\0');
}

/* Applications can be folded. */
static void
show_arrow(ViewerRow *self)
{
    const gboolean is_expanded = gtk_tree_list_row_get_expanded(self->row);

    gtk_image_set_from_icon_name(self->arrow,
                                 is_expanded ? "pan-down-symbolic" : "pan-end-symbolic");
    gtk_accessible_update_state(get_item_widget(self), GTK_ACCESSIBLE_STATE_EXPANDED, is_expanded,
                                -1);
}

static void
show_application(ViewerRow *self)
{
    ViewerApplication *application = VIEWER_APPLICATION(self->item);
    const guint n = g_list_model_get_n_items(self->followed);
    g_autofree char *count =
        g_strdup_printf(g_dngettext(NULL, "%u lock or request", "%u locks and requests", n), n);

    gtk_image_set_from_gicon(self->icon, application->icon);
    set_text(self->title, application->name);
    set_text(self->subtitle, application->detail);
    gtk_widget_set_tooltip_text(GTK_WIDGET(self), NULL);
    set_text(self->state, count);
    set_text(self->age, "");
    show_evidence(self, "");
    show_label(self);
}

static char *
build_subtitle(ViewerEntry *entry)
{
    const char *place = entry->resource->place;
    const char *why = web_locks_lock_info_get_why(entry->info);

    return *why != '\0' ? g_strjoin(" · ", why, place, NULL) : g_strdup(place);
}

/* A request below the lock that it waits for. */
static void
show_waiter(ViewerRow *self, ViewerEntry *entry)
{
    WebLocksLockInfo *info = entry->info;
    g_autofree char *name = viewer_isolate(entry->application->name);
    g_autofree char *title =
        /* Translators: the position in a queue, and the name of an application. */
        g_strdup_printf(_("%u. %s"), web_locks_lock_info_get_position(info), name);

    set_text(self->title, title);
    set_text(self->subtitle, web_locks_lock_info_get_why(info));
}

static void
show_age(ViewerRow *self)
{
    g_autofree char *age = viewer_describe_age(VIEWER_ENTRY(self->item)->info);

    gtk_label_set_text(self->age, age);
}

static void
show_entry(ViewerRow *self)
{
    ViewerEntry *entry = VIEWER_ENTRY(self->item);
    WebLocksLockInfo *info = entry->info;
    g_autofree char *state = viewer_describe_state(info);

    gtk_widget_set_tooltip_text(GTK_WIDGET(self), entry->resource->name);
    gtk_image_set_from_icon_name(self->icon, web_locks_lock_info_get_held(info)
                                                 ? "changes-prevent-symbolic"
                                                 : "content-loading-symbolic");
    if (gtk_tree_list_row_get_depth(self->row) > 1) {
        show_waiter(self, entry);
    } else {
        g_autofree char *subtitle = build_subtitle(entry);

        set_text(self->title, entry->resource->title);
        set_text(self->subtitle, subtitle);
    }
    set_text(self->state, state);
    gtk_widget_set_visible(GTK_WIDGET(self->age), TRUE);
    show_age(self);
    show_evidence(self, evidence_get_text(info));
    show_label(self);
}

static gboolean
on_second(gpointer data)
{
    ViewerRow *self = data;

    if (!gtk_widget_get_mapped(GTK_WIDGET(self)))
        return G_SOURCE_CONTINUE;
    show_age(self);
    viewer_entry_update_evidence(VIEWER_ENTRY(self->item));
    return G_SOURCE_CONTINUE;
}

static void
clear(ViewerRow *self)
{
    g_clear_handle_id(&self->timer, g_source_remove);
    if (self->followed != NULL)
        g_signal_handlers_disconnect_by_data(self->followed, self);
    if (self->item != NULL)
        g_signal_handlers_disconnect_by_data(self->item, self);
    if (self->row != NULL)
        g_signal_handlers_disconnect_by_data(self->row, self);
    self->followed = NULL;
    g_clear_object(&self->item);
    g_clear_object(&self->row);
}

static void
set_application(ViewerRow *self)
{
    g_signal_connect_swapped(self->row, "notify::expanded", G_CALLBACK(show_arrow), self);
    show_arrow(self);
    self->followed = VIEWER_APPLICATION(self->item)->entries;
    g_signal_connect_swapped(self->followed, "items-changed", G_CALLBACK(show_application), self);
    gtk_widget_add_css_class(GTK_WIDGET(self->title), "heading");
    show_application(self);
}

static void
set_entry(ViewerRow *self)
{
    self->followed = VIEWER_ENTRY(self->item)->info;
    g_signal_connect_swapped(self->followed, "notify", G_CALLBACK(show_entry), self);
    g_signal_connect_swapped(self->item, "evidence-changed", G_CALLBACK(show_entry), self);
    gtk_accessible_reset_state(get_item_widget(self), GTK_ACCESSIBLE_STATE_EXPANDED);
    gtk_widget_remove_css_class(GTK_WIDGET(self->title), "heading");
    self->timer = g_timeout_add_seconds(1, on_second, self);
    show_entry(self);
}

static void
set_tree_row(ViewerRow *self, GtkTreeListRow *row)
{
    gboolean is_application;

    clear(self);
    if (row == NULL)
        return;
    self->row = g_object_ref(row);
    self->item = gtk_tree_list_row_get_item(row);
    is_application = VIEWER_IS_APPLICATION(self->item);
    gtk_widget_set_margin_start(GTK_WIDGET(self),
                                6 + INDENT_PIXELS * (int)gtk_tree_list_row_get_depth(row));
    gtk_widget_set_visible(GTK_WIDGET(self->arrow), is_application);
    gtk_widget_set_visible(self->next, !is_application);
    gtk_image_set_icon_size(self->icon,
                            is_application ? GTK_ICON_SIZE_LARGE : GTK_ICON_SIZE_NORMAL);
    if (is_application)
        set_application(self);
    else
        set_entry(self);
}

static void
viewer_row_set_property(GObject *object, guint id, const GValue *value, GParamSpec *property)
{
    set_tree_row(VIEWER_ROW(object), g_value_get_object(value));
}

static void
viewer_row_dispose(GObject *object)
{
    ViewerRow *self = VIEWER_ROW(object);

    clear(self);
    G_OBJECT_CLASS(viewer_row_parent_class)->dispose(object);
}

static void
viewer_row_class_init(ViewerRowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

    G_OBJECT_CLASS(class)->set_property = viewer_row_set_property;
    G_OBJECT_CLASS(class)->dispose = viewer_row_dispose;
    /* The row that is shown, whose item is a ViewerApplication or a ViewerEntry. */
    g_object_class_install_property(G_OBJECT_CLASS(class), 1,
                                    g_param_spec_object("tree-row", NULL, NULL,
                                                        GTK_TYPE_TREE_LIST_ROW,
                                                        G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
    gtk_widget_class_set_template_from_resource(widget_class, VIEWER_RESOURCES "row.ui");
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, arrow);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, icon);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, title);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, subtitle);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, evidence_box);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, evidence);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, state);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, age);
    gtk_widget_class_bind_template_child(widget_class, ViewerRow, next);
}

static void
viewer_row_init(ViewerRow *self)
{
    gtk_widget_init_template(GTK_WIDGET(self));
}
