/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "left.h"

#include <glib/gstdio.h>

static char *
get_file(const char *directory)
{
    return g_build_filename(directory, "left", NULL);
}

void
left_save(const char *directory, guint64 session, GHashTable *paths)
{
    g_autofree char *file = get_file(directory);
    g_autofree char *new_file = g_strconcat(file, ".new", NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    GHashTableIter iter;
    gpointer path;

    g_string_append_printf(text, "%" G_GUINT64_FORMAT, session);
    g_hash_table_iter_init(&iter, paths);
    while (g_hash_table_iter_next(&iter, &path, NULL)) {
        g_string_append_c(text, '\n');
        g_string_append(text, path);
    }
    /* Half of it would be worse than none. As for the session, it needs not be on the disk. */
    if (g_file_set_contents_full(new_file, text->str, (gssize)text->len, G_FILE_SET_CONTENTS_NONE,
                                 0600, NULL))
        (void)g_rename(new_file, file);
}

char **
left_load(const char *directory)
{
    g_autofree char *file = get_file(directory);
    g_autofree char *text = NULL;

    if (!g_file_get_contents(file, &text, NULL, NULL))
        return NULL;
    g_unlink(file);
    return g_strsplit(text, "\n", -1);
}

char **
left_get_paths(char **lines, guint64 session)
{
    guint64 number;

    return lines != NULL &&
                   g_ascii_string_to_unsigned(lines[0], 10, 0, G_MAXUINT64, &number, NULL) &&
                   number == session
               ? lines + 1
               : NULL;
}
