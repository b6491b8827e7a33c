/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "bus-page.h"

#include <glib/gi18n.h>

#include "lock-table.h"
#include "row.h"

typedef enum {
    BUS_CONNECTING,
    BUS_NONE,       /* the bus can't be reached, or has ended */
    BUS_NO_SERVICE, /* the bus has no lock service, or the service refuses to answer */
    BUS_RESTARTING, /* the lock service has left the bus; it may come back */
    BUS_READY,
} BusState;

struct _ViewerBusPage {
    AdwBin parent_instance;
    GtkRevealer *banner;
    GtkWidget *restarting;
    GtkWidget *spinner;
    AdwStatusPage *status;
    GtkWidget *try_again;
    GtkWidget *scrolled;
    GtkListView *list;

    GBusType type;
    BusState state;
    char *reason;              /* for the state, to be displayed; "" if there is none */
    GCancellable *cancellable; /* ends what is under way of this attempt */
    WebLocksAgent *agent;
    ViewerLockTable *table; /* NULL until the lists of its monitor are filled */
    ViewerApplicationList *applications;
};

G_DEFINE_FINAL_TYPE(ViewerBusPage, viewer_bus_page, ADW_TYPE_BIN)

static guint opened_signal, ready_signal;

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
    switch (self->state) {
    case BUS_CONNECTING:
        return NULL;
    case BUS_NONE:
        return &no_bus;
    case BUS_NO_SERVICE:
        return &no_service;
    case BUS_RESTARTING:
    case BUS_READY:
        break;
    }
    if (g_list_model_get_n_items(G_LIST_MODEL(self->applications->applications)) > 0)
        return NULL;
    if (g_list_model_get_n_items(self->table->held.infos) == 0 &&
        g_list_model_get_n_items(self->table->pending.infos) == 0)
        return &no_locks;
    return &no_match;
}

static void
show_status(ViewerBusPage *self, const Status *status)
{
    g_autofree char *reason = g_markup_escape_text(self->reason, -1);

    adw_status_page_set_icon_name(self->status, status->icon);
    adw_status_page_set_title(self->status, _(status->title));
    adw_status_page_set_description(self->status,
                                    status->description != NULL ? _(status->description) : reason);
    gtk_widget_set_visible(self->try_again, status->can_try_again);
}

static void
show_page(ViewerBusPage *self)
{
    const BusState state = self->state;
    const Status *status = choose_status(self);

    if (status != NULL)
        show_status(self, status);
    gtk_widget_set_visible(GTK_WIDGET(self->status), status != NULL);
    gtk_widget_set_visible(self->spinner, state == BUS_CONNECTING);
    gtk_widget_set_visible(self->scrolled, state != BUS_CONNECTING && status == NULL);
    gtk_widget_set_visible(self->restarting, state == BUS_RESTARTING);
    gtk_revealer_set_reveal_child(self->banner, state == BUS_RESTARTING);
}

/* ---- the list */

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
    GListModel *applications;
    GtkTreeListModel *tree;
    g_autoptr(GtkSingleSelection) selection = NULL;

    self->applications = viewer_application_list_new();
    applications = G_LIST_MODEL(self->applications->applications);
    tree = gtk_tree_list_model_new(g_object_ref(applications), FALSE, TRUE, get_rows_below, NULL,
                                   NULL);
    selection = gtk_single_selection_new(G_LIST_MODEL(tree));
    gtk_single_selection_set_autoselect(selection, FALSE);
    gtk_single_selection_set_can_unselect(selection, TRUE);
    gtk_list_view_set_model(self->list, GTK_SELECTION_MODEL(selection));
    g_signal_connect_swapped(applications, "items-changed", G_CALLBACK(show_page), self);
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
        g_signal_emit(self, opened_signal, 0, VIEWER_ENTRY(item)->resource, self->table->history);
}

/* ---- the bus: an agent on it and, while the lock service can be reached there, a monitor of all
 * buckets that the user may look at. It follows restarts of the service. */

static void
set_state(ViewerBusPage *self, BusState state, const char *reason)
{
    self->state = state;
    g_free(self->reason);
    self->reason = g_strdup(reason != NULL ? reason : "");
    show_page(self);
}

static void
disconnect(ViewerBusPage *self)
{
    g_cancellable_cancel(self->cancellable);
    g_clear_object(&self->cancellable);
    if (self->agent != NULL)
        g_signal_handlers_disconnect_by_data(self->agent, self);
    g_clear_object(&self->agent);
    self->state = BUS_CONNECTING; /* without a table there is nothing to show */
    g_clear_pointer(&self->table, viewer_lock_table_free);
}

static gboolean
is_cancelled(const GError *error)
{
    return g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

static void
on_monitor(GObject *source, GAsyncResult *result, gpointer data)
{
    ViewerBusPage *self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksMonitor) monitor = web_locks_monitor_new_all_finish(result, &error);

    if (is_cancelled(error))
        return;
    if (monitor == NULL) {
        set_state(self, BUS_NO_SERVICE, error->message);
        return;
    }
    g_clear_pointer(&self->table, viewer_lock_table_free);
    self->table = viewer_lock_table_new(monitor, self->applications);
    set_state(self, BUS_READY, NULL);
    g_signal_emit(self, ready_signal, 0);
}

static void
begin_monitor(ViewerBusPage *self)
{
    web_locks_monitor_new_all_async(self->agent, self->cancellable, on_monitor, self);
}

/* After a failed attempt, a service that has started is tried again. */
static void
on_agent_changed(ViewerBusPage *self)
{
    const gboolean is_running = web_locks_agent_get_service_running(self->agent);

    if (!web_locks_agent_get_connected(self->agent)) {
        disconnect(self);
        set_state(self, BUS_NONE, _("The bus has closed the connection."));
    } else if (self->table != NULL) {
        set_state(self, is_running ? BUS_READY : BUS_RESTARTING, NULL);
    } else if (is_running && self->state == BUS_NO_SERVICE) {
        begin_monitor(self);
    }
}

static void
on_connected(GObject *source, GAsyncResult *result, gpointer data)
{
    ViewerBusPage *self = data;
    g_autoptr(GError) error = NULL;

    g_async_initable_init_finish(G_ASYNC_INITABLE(source), result, &error);
    if (is_cancelled(error))
        return;
    if (error != NULL) {
        set_state(self, BUS_NONE, error->message);
        return;
    }
    g_signal_connect_swapped(source, "notify::connected", G_CALLBACK(on_agent_changed), self);
    g_signal_connect_swapped(source, "notify::service-running", G_CALLBACK(on_agent_changed), self);
    begin_monitor(self);
}

/* An agent of its own: an agent whose connection has ended does not connect again. */
static void
connect_to_bus(ViewerBusPage *self)
{
    disconnect(self);
    self->cancellable = g_cancellable_new();
    self->agent = web_locks_agent_new(self->type, NULL);
    set_state(self, BUS_CONNECTING, NULL);
    g_async_initable_init_async(G_ASYNC_INITABLE(self->agent), G_PRIORITY_DEFAULT,
                                self->cancellable, on_connected, self);
}

/* ---- what the window sets */

static void
filter(ViewerBusPage *self)
{
    if (self->table != NULL)
        viewer_lock_table_filter(self->table);
    show_page(self);
}

void
viewer_bus_page_set_words(ViewerBusPage *self, const char *words)
{
    g_free(self->applications->words);
    self->applications->words = g_utf8_casefold(words, -1);
    filter(self);
}

void
viewer_bus_page_set_show(ViewerBusPage *self, ViewerShow show)
{
    self->applications->show = show;
    filter(self);
}

/* ---- GObject */

GtkWidget *
viewer_bus_page_new(GBusType type)
{
    ViewerBusPage *self = g_object_new(VIEWER_TYPE_BUS_PAGE, NULL);

    self->type = type;
    connect_to_bus(self);
    return GTK_WIDGET(self);
}

static void
viewer_bus_page_dispose(GObject *object)
{
    ViewerBusPage *self = VIEWER_BUS_PAGE(object);

    if (self->applications != NULL) {
        gtk_list_view_set_model(self->list, NULL);
        g_signal_handlers_disconnect_by_data(self->applications->applications, self);
        disconnect(self);
    }
    g_clear_pointer(&self->applications, viewer_application_list_free);
    g_clear_pointer(&self->reason, g_free);
    G_OBJECT_CLASS(viewer_bus_page_parent_class)->dispose(object);
}

static void
viewer_bus_page_class_init(ViewerBusPageClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

    g_type_ensure(VIEWER_TYPE_ROW);
    G_OBJECT_CLASS(class)->dispose = viewer_bus_page_dispose;
    opened_signal = g_signal_new("opened", VIEWER_TYPE_BUS_PAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                 NULL, G_TYPE_NONE, 2, VIEWER_TYPE_RESOURCE, G_TYPE_LIST_STORE);
    ready_signal = g_signal_new("ready", VIEWER_TYPE_BUS_PAGE, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                NULL, G_TYPE_NONE, 0);
    gtk_widget_class_set_template_from_resource(widget_class, VIEWER_RESOURCES "bus-page.ui");
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, banner);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, restarting);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, spinner);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, status);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, try_again);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, scrolled);
    gtk_widget_class_bind_template_child(widget_class, ViewerBusPage, list);
    gtk_widget_class_bind_template_callback(widget_class, on_activate);
    gtk_widget_class_bind_template_callback(widget_class, connect_to_bus);
}

static void
viewer_bus_page_init(ViewerBusPage *self)
{
    self->reason = g_strdup("");
    gtk_widget_init_template(GTK_WIDGET(self));
    set_up_list(self);
}
