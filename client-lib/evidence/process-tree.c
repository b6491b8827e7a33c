/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/evidence/process-tree.h"

#include <unistd.h>

gboolean
process_tree_read(guint pid, ProcessStat *out_stat)
{
    int directory = process_stat_open(pid, "", G_MAXINT64, out_stat);

    if (directory >= 0)
        close(directory);
    return directory >= 0;
}

/* The kernel has a list for each thread, of the processes that this thread has started. */
static void
append_children(GArray *pids, guint pid, guint max)
{
    g_autofree char *path = g_strdup_printf("/proc/%u/task", pid);
    g_autoptr(GDir) threads = g_dir_open(path, 0, NULL);
    const char *thread;

    while (threads != NULL && (thread = g_dir_read_name(threads)) != NULL && pids->len < max) {
        g_autofree char *file = g_build_filename(path, thread, "children", NULL);
        g_autofree char *children = NULL;
        char *next, *end;

        if (!g_file_get_contents(file, &children, NULL, NULL))
            continue;
        for (next = children; pids->len < max; next = end) {
            const guint child = (guint)g_ascii_strtoull(next, &end, 10);

            if (end == next)
                break;
            g_array_append_val(pids, child);
        }
    }
}

GArray *
process_tree_list(guint pid, guint max)
{
    GArray *pids = g_array_new(FALSE, FALSE, sizeof(guint));

    g_array_append_val(pids, pid);
    for (guint i = 0; i < pids->len; i++)
        append_children(pids, g_array_index(pids, guint, i), max);
    return pids;
}
