/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/file-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

typedef struct {
    int fd;
    gboolean shared;
} Wait;

int
file_lock_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);

    /* O_CREAT only if it is needed: it fails for directories, and in /tmp for other users' files.
     */
    if (fd < 0 && errno == ENOENT)
        fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC | O_CREAT, 0666);
    return fd;
}

int
file_lock_try(int fd, gboolean shared)
{
    return flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 ? 0 : errno;
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
