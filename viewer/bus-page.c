/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-page.h"

#include <glib/gi18n.h>

#include "application-list.h"
#include "row.h"

struct _ViewerBusPage {
    AdwBin parent_instance;
    GtkRevealer *banner;
    GtkWidget *restarting;
    GtkWidget *spinner;
    AdwStatusPage *status;
    GtkWidget *try_again;
    GtkWidget *scrolled;
    GtkListView *list;

    ViewerBus *bus;
    WebLocksMonitor *monitor; /* the one that `table` follows */
    ViewerLockTable *table;
    ViewerApplicationList *applications;
    GListStore *sides; /* the lists of entries that are shown */
    GtkFilterListModel *entries;
    char *words; /* as g_utf8_casefold() makes them */
    ViewerShow show;
};

G_DEFINE_FINAL_TYPE(ViewerBusPage, viewer_bus_page, ADW_TYPE_BIN)

static guint opened_signal;

/* ---- what is shown in place of the list, if there is nothing to list */

typedef struct {
    const char *icon;
    const char *title;
    const char *description; /* NULL: the reason that the bus gives */
    gboolean can_try_again;
} Status;

static const Status no_bus = {"network-offline-symbolic", N_("No Message Bus"), NULL, TRUE};
static const Status no_service = {"dialog-question-symbolic", N_("No Lock Service"), NULL, TRUE};
static const Status no_locks = {"changes-allow-symbolic", N_("No Locks"),
                                N_("No application holds a lock or waits for one."), FALSE};
static const Status no_match = {"system-search-symbolic", N_("No Results"),
                                N_("There are locks, but none that matches."), FALSE};

/* NULL: there is something to list, or to wait for. */
static const Status *
choose_status(ViewerBusPage *self)
{
    switch (self->bus->state) {
    case VIEWER_BUS_CONNECTING:
        return NULL;
    case VIEWER_BUS_NO_BUS:
        return &no_bus;
    case VIEWER_BUS_NO_SERVICE:
        return &no_service;
    case VIEWER_BUS_RESTARTING:
    case VIEWER_BUS_READY:
        break;
    }
    if (g_list_model_get_n_items(G_LIST_MODEL(self->entries)) > 0)
        return NULL;
    if (g_list_model_get_n_items(self->table->held.infos) == 0 &&
        g_list_model_get_n_items(self->table->pending.infos) == 0)
        return &no_locks;
    return &no_match;
}

static void
show_status(ViewerBusPage *self, const Status *status)
{
    g_autofree char *reason = g_markup_escape_text(self->bus->reason, -1);

    adw_status_page_set_icon_name(self->status, status->icon);
    adw_status_page_set_title(self->status, _(status->title));
    adw_status_page_set_description(self->status,
                                    status->description != NULL ? _(status->description) : reason);
    gtk_widget_set_visible(self->try_again, status->can_try_again);
}

static void
show_page(ViewerBusPage *self)
{
    const ViewerBusState state = self->bus->state;
    const Status *status = choose_status(self);

    if (status != NULL)
        show_status(self, status);
    gtk_widget_set_visible(GTK_WIDGET(self->status), status != NULL);
    gtk_widget_set_visible(self->spinner, state == VIEWER_BUS_CONNECTING);
    gtk_widget_set_visible(self->scrolled, state != VIEWER_BUS_CONNECTING && status == NULL);
    gtk_widget_set_visible(self->restarting, state == VIEWER_BUS_RESTARTING);
    gtk_revealer_set_reveal_child(self->banner, state == VIEWER_BUS_RESTARTING);
}

/* ---- the list */

static gboolean
is_shown(gpointer entry, gpointer page)
{
    return viewer_entry_matches(entry, VIEWER_BUS_PAGE(page)->words);
}

static void
refilter(ViewerBusPage *self)
{
    GtkFilter *filter = gtk_filter_list_model_get_filter(self->entries);

    gtk_filter_changed(filter, GTK_FILTER_CHANGE_DIFFERENT);
}

static void
choose_sides(ViewerBusPage *self)
{
    gpointer sides[2];
    guint n = 0;

    if (self->table != NULL && self->show != VIEWER_SHOW_WAITING)
        sides[n++] = self->table->held.entries;
    if (self->table != NULL && self->show != VIEWER_SHOW_HELD)
        sides[n++] = self->table->pending.entries;
    g_list_store_splice(self->sides, 0, g_list_model_get_n_items(G_LIST_MODEL(self->sides)), sides,
                        n);
}

/* The rows below an application are its entries, and below a held lock those who wait for it. */
static GListModel *
get_rows_below(gpointer item, gpointer unused)
{
    if (VIEWER_IS_APPLICATION(item))
        return G_LIST_MODEL(g_object_ref(VIEWER_APPLICATION(item)->entries));
    if (VIEWER_ENTRY(item)->is_held)
        return g_object_ref(G_LIST_MODEL(VIEWER_ENTRY(item)->resource->queue));
    return NULL;
}

static void
set_up_list(ViewerBusPage *self)
{
    GtkFlattenListModel *flat = NULL;
    GtkTreeListModel *tree = NULL;
    g_autoptr(GtkSingleSelection) selection = NULL;

    self->sides = g_list_store_new(G_TYPE_LIST_MODEL);
    flat = gtk_flatten_list_model_new(G_LIST_MODEL(g_object_ref(self->sides)));
    self->entries = gtk_filter_list_model_new(
        G_LIST_MODEL(flat), GTK_FILTER(gtk_custom_filter_new(is_shown, self, NULL)));
    self->applications = viewer_application_list_new(G_LIST_MODEL(self->entries));
    tree = gtk_tree_list_model_new(G_LIST_MODEL(g_object_ref(self->applications->applications)),
                                   FALSE, TRUE, get_rows_below, NULL, NULL);
    selection = gtk_single_selection_new(G_LIST_MODEL(tree));
    gtk_single_selection_set_autoselect(selection, FALSE);
    gtk_single_selection_set_can_unselect(selection, TRUE);
    gtk_list_view_set_model(self->list, GTK_SELECTION_MODEL(selection));
    g_signal_connect_swapped(self->entries, "items-changed", G_CALLBACK(show_page), self);
}

static void
on_activate(ViewerBusPage *self, guint position, GtkListView *list)
{
    GListModel *model = G_LIST_MODEL(gtk_list_view_get_model(list));
    g_autoptr(GtkTreeListRow) row = g_list_model_get_item(model, position);
    g_autoptr(GObject) item = gtk_tree_list_row_get_item(row);

    if (VIEWER_IS_APPLICATION(item))
        gtk_tree_list_row_set_expanded(row, !gtk_tree_list_row_get_expanded(row));
    else
        g_signal_emit(self, opened_signal, 0, VIEWER_ENTRY(item)->resource, self->table);
}

/* ---- the bus */

static void
on_bus_changed(ViewerBusPage *self)
{
    WebLocksMonitor *monitor = self->bus->monitor;

    if (monitor != self->monitor) {
        g_clear_object(&self->table);
        g_set_object(&self->monitor, monitor);
        if (monitor != NULL)
            self->table = viewer_lock_table_new(monitor);
        choose_sides(self);
    }
    show_page(self);
}

static void
on_try_again(ViewerBusPage *self)
{
    viewer_bus_connect(self->bus);
}

/* ---- what the window sets */

void
viewer_bus_page_set_words(ViewerBusPage *self, const char *words)
{
    g_free(self->words);
    self->words = g_utf8_casefold(words, -1);
    refilter(self);
    show_page(self);
}

void
viewer_bus_page_set_show(ViewerBusPage *self, ViewerShow show)
{
    if (self->show == show)
        return;
    self->show = show;
    choose_sides(self);
    show_page(self);
}

/* ---- GObject */

GtkWidget *
viewer_bus_page_new(ViewerBus *bus)
{
    ViewerBusPage *self = g_object_new(VIEWER_TYPE_BUS_PAGE, NULL);

    self->bus = g_object_ref(bus);
    g_signal_connect_object(bus, "changed", G_CALLBACK(on_bus_changed), self, G_CONNECT_SWAPPED);
    on_bus_changed(self);
    return GTK_WIDGET(self);
}

static void
viewer_bus_page_dispose(GObject *object)
{
    ViewerBusPage *self = VIEWER_BUS_PAGE(object);

    if (self->list != NULL)
        gtk_list_view_set_model(self->list, NULL);
    if (self->entries != NULL)
        g_signal_handlers_disconnect_by_data(self->entries, self);
    g_clear_pointer(&self->applications, viewer_application_list_free);
    g_clear_object(&self->entries);
    g_clear_object(&self->sides);
    g_clear_object(&self->table);
    g_clear_object(&self->monitor);
    g_clear_object(&self->bus);
    g_clear_pointer(&self->words, g_free);
    G_OBJECT_CLASS(viewer_bus_page_parent_class)->dispose(object);
}

static void
viewer_bus_page_class_init(ViewerBusPageClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

    g_type_ensure(VIEWER_TYPE_ROW);
    G_OBJECT_CLASS(class)->dispose = viewer_bus_page_dispose;
    opened_signal =
        g_signal_new("opened", VIEWER_TYPE_BUS_PAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                     G_TYPE_NONE, 2, VIEWER_TYPE_RESOURCE, VIEWER_TYPE_LOCK_TABLE);
    gtk_widget_class_set_template_from_resource(widget_class, VIEWER_RESOURCES "bus-page.ui");
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, banner);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, restarting);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, spinner);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, status);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, try_again);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, scrolled);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, list);
    gtk_widget_class_bind_template_callback(widget_class, on_activate);
    gtk_widget_class_bind_template_callback(widget_class, on_try_again);
}

static void
viewer_bus_page_init(ViewerBusPage *self)
{
    self->words = g_strdup("");
    gtk_widget_init_template(GTK_WIDGET(self));
    set_up_list(self);
}
