/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/signals.h"
#include "cli/status.h"

/* Runs in the child. Only async-signal-safe functions may be called, since other threads of the
 * parent may have been inside malloc() or held a mutex at fork(). */
static void
become(char **argv, char **env, gboolean dies_with_us, pid_t parent, int report_fd)
{
    int error;

    if (dies_with_us) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        /* The parent may have ended before prctl(). */
        if (getppid() != parent)
            _exit(STATUS_LOST);
    }
    signals_restore();
    execvpe(argv[0], argv, env);
    error = errno;
    while (write(report_fd, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(STATUS_NOT_EXECUTABLE);
}

/* Returns the errno that the child has written, or 0 if exec() has closed the pipe. */
static int
read_report(int fd)
{
    int error = 0;
    ssize_t n;

    do
        n = read(fd, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == sizeof error ? error : 0;
}

int
child_start(char **argv, char **env, gboolean dies_with_us, pid_t *out_pid)
{
    pid_t parent = getpid();
    int report[2];
    int error;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) < 0)
        return errno;
    pid = fork();
    if (pid == 0)
        become(argv, env, dies_with_us, parent, report[1]);
    error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0 && (error = read_report(report[0])) != 0)
        waitpid(pid, NULL, 0);
    close(report[0]);
    *out_pid = pid;
    return error;
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
