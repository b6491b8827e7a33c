/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "document.h"

#include <gio/gio.h>
#include <string.h>

/* "~/Documents" for a folder below the user's own. */
static char *
shorten(const char *folder)
{
    const char *home = g_get_home_dir();
    const gsize length = strlen(home);

    if (length > 1 && g_str_has_prefix(folder, home) &&
        (folder[length] == '/' || folder[length] == '\0'))
        return g_strconcat("~", folder + length, NULL);
    return g_strdup(folder);
}

gboolean
viewer_document_split(const char *lock_name, char **name, char **folder)
{
    g_autoptr(GFile) file = NULL;
    g_autofree char *whole = NULL, *parent = NULL;

    /* The other kind, "sha256:" and a hash, has no slashes. */
    if (strstr(lock_name, "://") == NULL)
        return FALSE;
    file = g_file_new_for_uri(lock_name);
    whole = g_file_get_parse_name(file);
    parent = g_path_get_dirname(whole);
    *name = g_path_get_basename(whole);
    *folder = shorten(parent);
    return TRUE;
}
