/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/file-lock.h"

#include "cli/language.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

typedef struct {
    int fd;
    gboolean shared;
} Wait;

int
file_lock_open(const char *path)
{
    /* A FIFO would be waited for, without signals. */
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = open(path, flags);

    /* O_CREAT only if it is needed: it fails for directories, and in /tmp for other users' files.
     */
    if (fd < 0 && errno == ENOENT)
        fd = open(path, flags | O_CREAT, 0666);
    return fd;
}

static int
try_lock(int fd, gboolean shared)
{
    return flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 ? 0 : errno;
}

/* Opens the same file, even if its path is that of another one now. Returns 0 or an errno. */
static int
make_writable(int fd)
{
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    int other = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    int error;

    if (other < 0)
        return errno;
    error = dup3(other, fd, O_CLOEXEC) < 0 ? errno : 0;
    close(other);
    return error;
}

/* The file is not opened for writing from the beginning: while it is, it can't be executed, and
 * programs that watch it are notified when it is closed. */
int
file_lock_try(int fd, gboolean shared)
{
    int error = try_lock(fd, shared);

    if (error != EBADF || shared)
        return error;
    error = make_writable(fd);
    return error == 0 ? try_lock(fd, shared) : error;
}

static void
wait_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    const Wait *wait = data;
    int result;

    do
        result = flock(wait->fd, wait->shared ? LOCK_SH : LOCK_EX);
    while (result < 0 && errno == EINTR);
    g_task_return_int(task, result == 0 ? 0 : errno);
}

void
file_lock_wait_async(int fd, gboolean shared, GAsyncReadyCallback callback, gpointer data)
{
    g_autoptr(GTask) task = g_task_new(NULL, NULL, callback, data);
    Wait *wait = g_new(Wait, 1);

    *wait = (Wait){fd, shared};
    g_task_set_task_data(task, wait, g_free);
    g_task_run_in_thread(task, wait_in_thread);
}

int
file_lock_wait_finish(GAsyncResult *result)
{
    return (int)g_task_propagate_int(G_TASK(result), NULL);
}

const char *
file_lock_describe(int error)
{
    switch (error) {
    case EBADF:
    case EACCES:
    case EROFS:
        return _("its file system requires write permission for an exclusive lock");
    case ENOLCK:
        return _("its file system has no lock available; on NFSv3, check that rpc.statd runs");
    case EOPNOTSUPP:
    case ENOSYS:
    case EINVAL:
        return _("its file system does not support flock()");
    default:
        return language_strerror(error);
    }
}
