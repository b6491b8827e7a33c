/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "proof.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "document-name.h"
#include "mountinfo.h"
#include "process.h"

/* Where a Flatpak has directories of the host that are others in its sandbox. */
#define HOST_PREFIX "/run/host/"

/* A lookup in memory fails while a directory on its way is being renamed. */
#define LOOKUPS_MAX 4

/* File systems without a server or a process that may not reply. */
static const char *const local_types[] = {
    "bcachefs", "btrfs",   "exfat", "ext2",  "ext3", "ext4", "f2fs", "jfs", "nilfs2",
    "ntfs3",    "overlay", "ramfs", "tmpfs", "udf",  "vfat", "xfs",  "zfs", NULL};

gboolean
proof_is_path(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && (flags & O_PATH) != 0;
}

/* Returns the descriptor's path, owned; NULL: it has none, or it is too long. */
static char *
read_path(int fd)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
    char path[PATH_MAX];
    ssize_t n = readlink(link, path, sizeof path);

    if (n <= 0 || n == sizeof path || path[0] != '/')
        return NULL;
    path[n] = '\0';
    return g_strdup(g_str_has_prefix(path, HOST_PREFIX) ? path + strlen(HOST_PREFIX) - 1 : path);
}

/* Returns an O_PATH descriptor, or a negative errno. */
static int
open_cached(const char *path)
{
    const struct open_how how = {
        .flags = O_PATH | O_CLOEXEC,
        .resolve = RESOLVE_CACHED | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = -1;

    for (guint i = 0; i < LOOKUPS_MAX && fd < 0; i++) {
        fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
        if (fd < 0 && errno != EAGAIN)
            break;
    }
    return fd < 0 ? -errno : fd;
}

static gboolean
is_same(int fd, int own_fd, mode_t type)
{
    struct statx status, own;

    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &status) ==
               0 &&
           statx(own_fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &own) ==
               0 &&
           (status.stx_mode & S_IFMT) == type && status.stx_ino == own.stx_ino &&
           status.stx_dev_major == own.stx_dev_major && status.stx_dev_minor == own.stx_dev_minor;
}

static gboolean
is_on_local(int own_fd)
{
    g_autofree char *mount_id = process_read_mount_id(own_fd);
    g_autofree char *text = process_read_own_mounts();
    g_auto(MountPoint) mount = {0};

    return mount_id != NULL && text != NULL && mountinfo_find_id(text, mount_id, &mount) &&
           mount.n == 1 && g_strv_contains(local_types, mount.type);
}

/* The file's own permissions, and the mount that the descriptor is on. */
static gboolean
may_write(int fd)
{
    return syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH) == 0;
}

static LockResult
compare(int fd, const char *path, mode_t type)
{
    LockResult result = LOCK_RESULT_NOT_PROVED;
    int own_fd = open_cached(path);

    if (own_fd == -ENOSYS || own_fd == -EINVAL) /* an old kernel has no RESOLVE_CACHED */
        return LOCK_RESULT_NOT_LOCAL;
    if (own_fd == -EMFILE || own_fd == -ENFILE || own_fd == -ENOMEM)
        return LOCK_RESULT_NOT_NOW;
    if (own_fd < 0)
        return LOCK_RESULT_NOT_PROVED;
    if (is_same(fd, own_fd, type)) {
        if (!is_on_local(own_fd))
            result = LOCK_RESULT_NOT_LOCAL;
        else if (may_write(fd))
            result = LOCK_RESULT_OK;
    }
    close(own_fd);
    return result;
}

LockResult
proof_of_file(int fd, const char *name, char **out_document)
{
    g_autofree char *path = read_path(fd);
    g_autofree char *full = NULL;
    LockResult result;

    if (path == NULL)
        return LOCK_RESULT_NOT_PROVED;
    result = compare(fd, path, name != NULL ? S_IFDIR : S_IFREG);
    if (result != LOCK_RESULT_OK)
        return result;
    full = name != NULL ? g_build_filename(path, name, NULL) : g_strdup(path);
    *out_document = document_name_from_path(full);
    return *out_document != NULL ? LOCK_RESULT_OK : LOCK_RESULT_NOT_PROVED;
}
