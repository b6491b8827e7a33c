/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "session-file.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define GROUP        "Session"

static char *
get_path(const char *directory)
{
    return g_build_filename(directory, "session", NULL);
}

static char *
get_boot_id(void)
{
    char *boot_id = NULL;

    if (g_file_get_contents(BOOT_ID_PATH, &boot_id, NULL, NULL))
        g_strstrip(boot_id);
    return boot_id;
}

static gboolean
read_session(GKeyFile *file, EngineSession *out_session)
{
    g_autofree char *password = g_key_file_get_string(file, GROUP, "Password", NULL);
    g_autofree guchar *bytes = NULL;
    gsize size = 0;

    out_session->timeout_ms = (guint)g_key_file_get_uint64(file, GROUP, "Timeout", NULL);
    out_session->id = g_key_file_get_uint64(file, GROUP, "Id", NULL);
    if (out_session->id == 0 || password == NULL)
        return FALSE;
    bytes = g_base64_decode(password, &size);
    if (size != sizeof out_session->password)
        return FALSE;
    memcpy(out_session->password, bytes, size);
    return TRUE;
}

gboolean
session_file_load(const char *directory, EngineSession *out_session, char ***out_paths)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autofree char *path = get_path(directory);
    g_autofree char *boot_id = get_boot_id();
    g_autofree char *stored = NULL;

    if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
        return FALSE;
    stored = g_key_file_get_string(file, GROUP, "Boot", NULL);
    if (stored == NULL || g_strcmp0(stored, boot_id) != 0 || !read_session(file, out_session))
        return FALSE;
    *out_paths = g_key_file_get_string_list(file, GROUP, "Names", NULL, NULL);
    return TRUE;
}

static void
set_names(GKeyFile *file, GHashTable *paths)
{
    guint n_paths;
    g_autofree gpointer *keys = g_hash_table_get_keys_as_array(paths, &n_paths);

    g_key_file_set_string_list(file, GROUP, "Names", (const char *const *)keys, n_paths);
}

void
session_file_save(const char *directory, const EngineSession *session, GHashTable *paths)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    g_autofree char *path = get_path(directory);
    g_autofree char *new_path = g_strconcat(path, ".new", NULL);
    g_autofree char *boot_id = get_boot_id();
    g_autofree char *password = g_base64_encode(session->password, sizeof session->password);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;
    const char *why = NULL;

    g_key_file_set_string(file, GROUP, "Boot", boot_id != NULL ? boot_id : "");
    g_key_file_set_uint64(file, GROUP, "Id", session->id);
    g_key_file_set_string(file, GROUP, "Password", password);
    g_key_file_set_uint64(file, GROUP, "Timeout", session->timeout_ms);
    if (paths != NULL)
        set_names(file, paths);
    text = g_key_file_to_data(file, NULL, NULL);
    /* It is valid for this boot only, so it is enough that no process sees half of it. Waiting
     * until it is on the disk might take longer than the lease. */
    if (!g_file_set_contents_full(new_path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, &error))
        why = error->message;
    else if (g_rename(new_path, path) < 0)
        why = g_strerror(errno);
    if (why != NULL)
        g_warning("could not store the session, which therefore ends with this process: %s", why);
}

void
session_file_delete(const char *directory)
{
    g_autofree char *path = get_path(directory);

    g_unlink(path);
}
