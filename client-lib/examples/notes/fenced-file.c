/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fenced-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gi18n.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The token, zero-padded so that its length never changes and it can be overwritten in place. */
#define TOKEN_FORMAT "%020" G_GUINT64_FORMAT "\n"
#define TOKEN_LENGTH 21

static void
set_error_from_errno(GError **error, const char *path)
{
    int saved = errno;

    g_set_error(error, G_IO_ERROR, g_io_error_from_errno(saved), "%s: %s", path, g_strerror(saved));
}

/* Compares `token` with the latest token in the token file, stores it if it is the latest, and
 * returns a descriptor of the token file with flock() held. Until the descriptor is closed no other
 * process can pass this check, so no other write can come between the check and the write. The lock
 * is held for one read or write of the file. Returns -1 if there was a later token. */
static int
token_file_lock(const char *path, guint64 token, GError **error)
{
    g_autofree char *directory = g_path_get_dirname(path);
    g_autofree char *name = g_path_get_basename(path);
    g_autofree char *token_file = g_strdup_printf("%s/.%s.token", directory, name);
    char digits[TOKEN_LENGTH + 1] = "";
    guint64 latest;
    int fd = open(token_file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0 || flock(fd, LOCK_EX) < 0 || pread(fd, digits, TOKEN_LENGTH, 0) < 0)
        goto failed;
    latest = g_ascii_strtoull(digits, NULL, 10);
    if (latest > token) {
        close(fd);
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_WRONG_ETAG,
                    _("A later editor has used this file (token %llu, ours is %llu)"),
                    (unsigned long long)latest, (unsigned long long)token);
        return -1;
    }
    g_snprintf(digits, sizeof digits, TOKEN_FORMAT, token);
    if (latest < token && pwrite(fd, digits, TOKEN_LENGTH, 0) < TOKEN_LENGTH)
        goto failed;
    return fd;

failed:
    set_error_from_errno(error, token_file);
    if (fd >= 0)
        close(fd);
    return -1;
}

gboolean
fenced_file_read(const char *path, guint64 token, char **text, GError **error)
{
    g_autoptr(GFile) file = g_file_new_for_path(path);
    g_autoptr(GError) own = NULL;
    int token_file = token_file_lock(path, token, error);

    if (token_file < 0)
        return FALSE;
    if (!g_file_load_contents(file, NULL, text, NULL, NULL, &own)) {
        if (g_error_matches(own, G_IO_ERROR, G_IO_ERROR_NOT_FOUND))
            *text = g_strdup("");
        else
            g_propagate_error(error, g_steal_pointer(&own));
    }
    close(token_file);
    return *text != NULL;
}

gboolean
fenced_file_write(const char *path, guint64 token, const char *text, GError **error)
{
    g_autoptr(GFile) file = g_file_new_for_path(path);
    int token_file = token_file_lock(path, token, error);
    gboolean written;

    if (token_file < 0)
        return FALSE;
    /* This writes a temporary file and renames it; owner and mode are preserved. */
    written = g_file_replace_contents(file, text, strlen(text), NULL, FALSE, G_FILE_CREATE_NONE,
                                      NULL, NULL, error);
    close(token_file);
    return written;
}
