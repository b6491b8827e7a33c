/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "queue.h"

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

char *
notes_describe(WebLocksLockInfo *info)
{
    return g_strdup_printf(_("%s (pid %u)"), web_locks_lock_info_get_who(info),
                           web_locks_lock_info_get_who_pid(info));
}
