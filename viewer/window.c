/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "window.h"

#include <glib/gi18n.h>

#include "bus-page.h"
#include "lock-page.h"

#define N_BUSES 2

struct _ViewerWindow {
    AdwApplicationWindow parent_instance;
    AdwToastOverlay *toasts;
    AdwLeaflet *leaflet;
    AdwViewSwitcherTitle *switcher;
    AdwViewStack *stack;
    GtkSearchBar *search_bar;
    GtkSearchEntry *search_entry;
    ViewerLockPage *lock_page;

    ViewerBusPage *pages[N_BUSES];
};

G_DEFINE_FINAL_TYPE(ViewerWindow, viewer_window, ADW_TYPE_APPLICATION_WINDOW)

/* ---- the pages */

static void
show_list(ViewerWindow *self)
{
    adw_leaflet_navigate(self->leaflet, ADW_NAVIGATION_DIRECTION_BACK);
}

/* The page of a lock follows it, so it is emptied when it can't be seen any more. */
static void
on_transition(ViewerWindow *self)
{
    if (!adw_leaflet_get_child_transition_running(self->leaflet) &&
        adw_leaflet_get_adjacent_child(self->leaflet, ADW_NAVIGATION_DIRECTION_BACK) == NULL)
        viewer_lock_page_show_nothing(self->lock_page);
}

static void
on_opened(ViewerWindow *self, ViewerResource *resource, GListStore *history)
{
    viewer_lock_page_show(self->lock_page, resource, history);
    adw_leaflet_navigate(self->leaflet, ADW_NAVIGATION_DIRECTION_FORWARD);
}

/* The system bus is shown if it can be reached. */
static void
on_system_ready(ViewerWindow *self, ViewerBusPage *page)
{
    adw_view_stack_page_set_visible(adw_view_stack_get_page(self->stack, GTK_WIDGET(page)), TRUE);
    adw_view_switcher_title_set_view_switcher_enabled(self->switcher, TRUE);
}

static void
add_bus(ViewerWindow *self, guint index, GBusType type)
{
    const gboolean is_system = type == G_BUS_TYPE_SYSTEM;
    GtkWidget *widget = viewer_bus_page_new(type);
    AdwViewStackPage *page =
        adw_view_stack_add_titled(self->stack, widget, is_system ? "system" : "session",
                                  is_system ? _("System") : _("Session"));

    self->pages[index] = VIEWER_BUS_PAGE(widget);
    adw_view_stack_page_set_icon_name(page,
                                      is_system ? "computer-symbolic" : "avatar-default-symbolic");
    g_signal_connect_object(widget, "opened", G_CALLBACK(on_opened), self, G_CONNECT_SWAPPED);
    if (is_system) {
        adw_view_stack_page_set_visible(page, FALSE);
        adw_view_switcher_title_set_view_switcher_enabled(self->switcher, FALSE);
        g_signal_connect_object(widget, "ready", G_CALLBACK(on_system_ready), self,
                                G_CONNECT_SWAPPED);
    }
}

/* ---- searching */

static void
on_search_changed(ViewerWindow *self)
{
    for (guint i = 0; i < N_BUSES; i++)
        viewer_bus_page_set_words(self->pages[i],
                                  gtk_editable_get_text(GTK_EDITABLE(self->search_entry)));
}

static void
on_show_action(GSimpleAction *action, GVariant *state, gpointer window)
{
    const char *choice = g_variant_get_string(state, NULL);
    ViewerShow show = VIEWER_SHOW_ALL;

    if (g_str_equal(choice, "held"))
        show = VIEWER_SHOW_HELD;
    else if (g_str_equal(choice, "waiting"))
        show = VIEWER_SHOW_WAITING;
    g_simple_action_set_state(action, state);
    for (guint i = 0; i < N_BUSES; i++)
        viewer_bus_page_set_show(VIEWER_WINDOW(window)->pages[i], show);
}

static void
on_search_action(GtkWidget *widget, const char *name, GVariant *parameter)
{
    ViewerWindow *self = VIEWER_WINDOW(widget);

    show_list(self);
    gtk_search_bar_set_search_mode(self->search_bar, TRUE);
    gtk_widget_grab_focus(GTK_WIDGET(self->search_entry));
}

/* ---- other actions */

static void
on_back_action(GtkWidget *widget, const char *name, GVariant *parameter)
{
    show_list(VIEWER_WINDOW(widget));
}

static void
on_bus_action(GtkWidget *widget, const char *name, GVariant *parameter)
{
    ViewerWindow *self = VIEWER_WINDOW(widget);
    GtkWidget *page =
        adw_view_stack_get_child_by_name(self->stack, g_variant_get_string(parameter, NULL));

    if (adw_view_stack_page_get_visible(adw_view_stack_get_page(self->stack, page)))
        adw_view_stack_set_visible_child(self->stack, page);
}

static void
on_notice_action(GtkWidget *widget, const char *name, GVariant *parameter)
{
    g_autofree char *title = g_markup_escape_text(g_variant_get_string(parameter, NULL), -1);

    adw_toast_overlay_add_toast(VIEWER_WINDOW(widget)->toasts, adw_toast_new(title));
}

/* ---- GObject */

GtkWindow *
viewer_window_new(GtkApplication *application)
{
    return g_object_new(VIEWER_TYPE_WINDOW, "application", application, NULL);
}

static void
viewer_window_class_init(ViewerWindowClass *class)
{
    GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

    g_type_ensure(VIEWER_TYPE_LOCK_PAGE);
    gtk_widget_class_set_template_from_resource(widget_class, VIEWER_RESOURCES "window.ui");
    gtk_widget_class_bind_template_child(widget_class, ViewerWindow, toasts);
    gtk_widget_class_bind_template_child(widget_class, ViewerWindow, leaflet);
    gtk_widget_class_bind_template_child(widget_class, ViewerWindow, switcher);
    gtk_widget_class_bind_template_child(widget_class, ViewerWindow, stack);
    gtk_widget_class_bind_template_child(widget_class, ViewerWindow, search_bar);
    gtk_widget_class_bind_template_child(widget_class, ViewerWindow, search_entry);
    gtk_widget_class_bind_template_child(widget_class, ViewerWindow, lock_page);
    gtk_widget_class_bind_template_callback(widget_class, on_search_changed);
    gtk_widget_class_bind_template_callback(widget_class, on_transition);
    gtk_widget_class_install_action(widget_class, "win.search", NULL, on_search_action);
    gtk_widget_class_install_action(widget_class, "win.back", NULL, on_back_action);
    gtk_widget_class_install_action(widget_class, "win.bus", "s", on_bus_action);
    gtk_widget_class_install_action(widget_class, "win.notice", "s", on_notice_action);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_f, GDK_CONTROL_MASK, "win.search",
                                        NULL);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_1, GDK_ALT_MASK, "win.bus", "s",
                                        "session");
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_2, GDK_ALT_MASK, "win.bus", "s",
                                        "system");
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_Left, GDK_ALT_MASK, "win.back", NULL);
    gtk_widget_class_add_binding_action(widget_class, GDK_KEY_Escape, 0, "win.back", NULL);
}

static void
viewer_window_init(ViewerWindow *self)
{
    static const GActionEntry actions[] = {{"show", NULL, "s", "'all'", on_show_action}};

    gtk_widget_init_template(GTK_WIDGET(self));
    g_action_map_add_action_entries(G_ACTION_MAP(self), actions, G_N_ELEMENTS(actions), self);
    gtk_search_bar_connect_entry(self->search_bar, GTK_EDITABLE(self->search_entry));
    add_bus(self, 0, G_BUS_TYPE_SESSION);
    add_bus(self, 1, G_BUS_TYPE_SYSTEM);
}
