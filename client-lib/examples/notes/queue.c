/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "queue.h"

#include <gio/gdesktopappinfo.h>
#include <glib/gi18n.h>

/* GTK's list models can use the lists of a monitor directly. */
GListModel *
notes_queue_new(WebLocksMonitor *monitor)
{
    GListStore *lists = g_list_store_new(G_TYPE_LIST_MODEL);

    g_list_store_append(lists, web_locks_monitor_get_held(monitor));
    g_list_store_append(lists, web_locks_monitor_get_pending(monitor));
    return G_LIST_MODEL(gtk_flatten_list_model_new(G_LIST_MODEL(lists)));
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
