/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNTS_MAX_BYTES ((gsize)1024 * 1024)
#define FDINFO_MAX_BYTES ((gsize)4096)
#define NAME_MAX_BYTES   ((gsize)64)

#define PID_LINE   "\nPid:\t"
#define MOUNT_LINE "\nmnt_id:\t"

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

char *
process_read_fd(int fd, gsize max, gsize *out_size)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char buffer[4096];
    ssize_t n = -1;

    while (text->len <= max) {
        n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        g_string_append_len(text, buffer, n);
    }
    *out_size = text->len;
    return n == 0 && text->len <= max ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

/* Reads a file of /proc. */
static char *
read_file(int directory, const char *name, gsize max)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char *text = NULL;
    gsize size;

    if (fd >= 0)
        text = process_read_fd(fd, max, &size);
    close_fd(&fd);
    return text;
}

/* Returns the number after `begin` in /proc/self/fdinfo of an open file, or -1 if it isn't there.
 */
static gint64
get_from_fdinfo(int fd, const char *begin)
{
    g_autofree char *name = g_strdup_printf("/proc/self/fdinfo/%d", fd);
    g_autofree char *text = read_file(AT_FDCWD, name, FDINFO_MAX_BYTES);
    const char *line = text != NULL ? strstr(text, begin) : NULL;

    return line != NULL ? g_ascii_strtoll(line + strlen(begin), NULL, 10) : -1;
}

/* Returns 0 if the process has ended or is not in the service's pid namespace. */
static guint32
get_pid_of_pidfd(int pidfd)
{
    gint64 pid = get_from_fdinfo(pidfd, PID_LINE);

    return pid > 0 && pid <= G_MAXINT32 ? (guint32)pid : 0;
}

static int
open_pidfd(guint32 pid)
{
    return pid > 0 && pid <= G_MAXINT32 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
}

gboolean
process_open(Process *process, guint32 pid, int pidfd)
{
    g_autofree char *path = NULL;

    *process = (Process){
        .pid = pidfd >= 0 ? get_pid_of_pidfd(pidfd) : pid,
        .pidfd = pidfd >= 0 ? pidfd : open_pidfd(pid),
        .directory = -1,
    };
    if (process->pid > 0 && process->pidfd >= 0) {
        path = g_strdup_printf("/proc/%u", process->pid);
        process->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        /* If the process is running after its directory was opened, its pid was not reused. */
        if (process->directory >= 0 && process_is_running(process))
            return TRUE;
    }
    process_close(process);
    return FALSE;
}

void
process_close_directory(Process *process)
{
    close_fd(&process->directory);
}

void
process_close(Process *process)
{
    close_fd(&process->pidfd);
    close_fd(&process->directory);
}

gboolean
process_is_running(const Process *process)
{
    struct pollfd poll_fd = {.fd = process->pidfd, .events = POLLIN};

    return process->pidfd >= 0 && poll(&poll_fd, 1, 0) == 0;
}

int
process_open_root(const Process *process)
{
    int fd = openat(process->directory, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

char *
process_read_mount_id(int fd)
{
    gint64 id = get_from_fdinfo(fd, MOUNT_LINE);

    return id >= 0 ? g_strdup_printf("%" G_GINT64_FORMAT, id) : NULL;
}

char *
process_read_name(const Process *process)
{
    char *name = read_file(process->directory, "comm", NAME_MAX_BYTES);

    return name != NULL ? g_strchomp(name) : NULL;
}

char *
process_read_mounts(const Process *process)
{
    return read_file(process->directory, "mountinfo", MOUNTS_MAX_BYTES);
}

char *
process_read_own_mounts(void)
{
    return read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MAX_BYTES);
}
