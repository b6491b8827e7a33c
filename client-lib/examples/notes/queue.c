/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "queue.h"

#include <gio/gdesktopappinfo.h>
#include <glib/gi18n.h>

/* GTK's list models can use the lists of a monitor directly: here both are concatenated, and
 * filtered by lock name. */
GListModel *
notes_queue_new(WebLocksMonitor *monitor, const char *lock_name)
{
    GtkStringFilter *filter =
        gtk_string_filter_new(gtk_property_expression_new(WEB_LOCKS_TYPE_LOCK_INFO, NULL, "name"));
    GListStore *lists = g_list_store_new(G_TYPE_LIST_MODEL);
    GListModel *both;

    g_list_store_append(lists, web_locks_monitor_get_held(monitor));
    g_list_store_append(lists, web_locks_monitor_get_pending(monitor));
    both = G_LIST_MODEL(gtk_flatten_list_model_new(G_LIST_MODEL(lists)));
    gtk_string_filter_set_match_mode(filter, GTK_STRING_FILTER_MATCH_MODE_EXACT);
    gtk_string_filter_set_ignore_case(filter, FALSE);
    gtk_string_filter_set_search(filter, lock_name);
    return G_LIST_MODEL(gtk_filter_list_model_new(both, GTK_FILTER(filter)));
}

guint
notes_queue_count_waiting(GListModel *queue)
{
    const guint n = g_list_model_get_n_items(queue);
    guint n_waiting = 0;

    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(queue, i);

        if (!web_locks_lock_info_get_held(info))
            n_waiting++;
    }
    return n_waiting;
}

/* A sandboxed application has an id, any other process only the name of its program. */
char *
notes_describe(WebLocksLockInfo *info)
{
    const char *id = web_locks_lock_info_get_application(info);
    g_autofree char *desktop_id = g_strconcat(id, ".desktop", NULL);
    g_autoptr(GDesktopAppInfo) application =
        *id != '\0' ? g_desktop_app_info_new(desktop_id) : NULL;
    const char *name = id;

    if (application != NULL)
        name = g_app_info_get_display_name(G_APP_INFO(application));
    else if (*id == '\0')
        name = web_locks_lock_info_get_process(info);
    return g_strdup_printf(_("%s (pid %u)"), name, web_locks_lock_info_get_pid(info));
}
