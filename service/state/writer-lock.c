/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "writer-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
writer_lock_set_error(GError **error, const char *path)
{
    gboolean is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;

    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "%s%s: %s",
                is_full ? "no space for the state: " : "", path, g_strerror(errno));
}

gboolean
writer_lock_is_scarcity(const GError *error)
{
    return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_MFILE) ||
           g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NFILE) ||
           g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM);
}

/* What is wrong with a directory or a file, or NULL. */
static const char *
find_fault(const struct stat *status, mode_t type)
{
    if (S_ISLNK(status->st_mode))
        return "is a symbolic link";
    if ((status->st_mode & S_IFMT) != type)
        return type == S_IFDIR ? "is not a directory" : "is not a regular file";
    if (status->st_uid != geteuid())
        return "belongs to another user";
    if (type == S_IFDIR && (status->st_mode & 077) != 0)
        return "lets other users in: its mode must be 0700";
    if (type == S_IFREG && status->st_nlink != 1)
        return "has another name as well (a hard link)";
    return NULL;
}

static gboolean
check(const char *path, int r, const struct stat *status, mode_t type, GError **error)
{
    const char *fault;

    if (r < 0) {
        writer_lock_set_error(error, path);
        return FALSE;
    }
    fault = find_fault(status, type);
    if (fault != NULL)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
                    "%s %s; refusing to store the state there", path, fault);
    return fault == NULL;
}

static gboolean
open_directory(const char *directory, GError **error)
{
    g_autofree char *path = g_strdup(directory);
    struct stat status;

    /* With a slash behind it, a symbolic link would be followed. */
    for (gsize length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
        path[length - 1] = '\0';
    if (g_mkdir_with_parents(path, 0700) < 0) {
        writer_lock_set_error(error, path);
        return FALSE;
    }
    return check(path, lstat(path, &status), &status, S_IFDIR, error);
}

gboolean
writer_lock_set(int fd)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

int
writer_lock_open_file(const char *path, GError **error)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat status;

    if (check(path, fd < 0 ? fd : fstat(fd, &status), &status, S_IFREG, error)) {
        if (writer_lock_set(fd))
            return fd;
        if (errno != EAGAIN && errno != EACCES)
            writer_lock_set_error(error, path);
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

gboolean
writer_lock_is_at(int fd, const char *path)
{
    struct stat status, named;

    return fstat(fd, &status) == 0 && lstat(path, &named) == 0 && status.st_ino == named.st_ino &&
           status.st_dev == named.st_dev;
}

int
writer_lock_take(const char *directory, const char *path, GError **error)
{
    return open_directory(directory, error) ? writer_lock_open_file(path, error) : -1;
}
