/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/signals.h"
#include "cli/status.h"

/* Returns FALSE if the parent has closed its end, or has ended. */
static gboolean
wait_for_start(int fd, guint64 *out_token)
{
    ssize_t n;

    do
        n = read(fd, out_token, sizeof *out_token);
    while (n < 0 && errno == EINTR);
    return n == sizeof *out_token;
}

/* Runs in the child, which has only this thread. */
static void
become(char **argv, const char *name, int fd)
{
    guint64 token;
    char digits[24];
    int error;

    if (!wait_for_start(fd, &token))
        _exit(STATUS_LOST);
    g_snprintf(digits, sizeof digits, "%" G_GUINT64_FORMAT, token);
    g_setenv("WEBLOCKS_NAME", name, TRUE);
    g_setenv("WEBLOCKS_TOKEN", digits, TRUE);
    signals_restore();
    execvp(argv[0], argv);
    error = errno;
    while (write(fd, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(STATUS_NOT_EXECUTABLE);
}

int
child_fork(Child *child, char **argv, const char *name, gboolean dies_with_us)
{
    pid_t parent = getpid();
    int ends[2]; /* of this process, and of the child */
    int error;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    child->pid = fork();
    error = errno;
    if (child->pid == 0) {
        close(ends[0]);
        if (dies_with_us)
            prctl(PR_SET_PDEATHSIG, SIGTERM);
        /* The parent may have ended before prctl(). */
        if (getppid() != parent)
            _exit(STATUS_LOST);
        become(argv, name, ends[1]);
    }
    close(ends[1]);
    child->fd = ends[0];
    if (child->pid > 0)
        return 0;
    close(ends[0]);
    *child = CHILD_NONE;
    return error;
}

void
child_start(Child *child, guint64 token)
{
    /* A child that has been killed can't read it. */
    while (write(child->fd, &token, sizeof token) < 0 && errno == EINTR)
        ;
}

int
child_finish_start(Child *child)
{
    int error = 0;
    ssize_t n;

    do
        n = read(child->fd, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    if (n == sizeof error) {
        child_cancel(child);
        return error;
    }
    close(child->fd);
    child->fd = -1;
    return 0;
}

void
child_cancel(Child *child)
{
    close(child->fd);
    kill(child->pid, SIGKILL); /* also if it is stopped */
    waitpid(child->pid, NULL, 0);
    *child = CHILD_NONE;
}

gboolean
child_reap(pid_t pid, int *out_status)
{
    int status;

    if (waitpid(pid, &status, WNOHANG) != pid)
        return FALSE;
    *out_status = WIFSIGNALED(status) ? STATUS_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
    return TRUE;
}
