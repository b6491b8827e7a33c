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
wait_for_start(int fd)
{
    char byte;
    ssize_t n;

    do
        n = read(fd, &byte, sizeof byte);
    while (n < 0 && errno == EINTR);
    return n == sizeof byte;
}

/* Runs in the child. Only async-signal-safe functions may be called, since other threads of the
 * parent may have been inside malloc() or held a mutex at fork(). */
static void
become(char **argv, char **env, gboolean dies_with_us, pid_t parent, int fd)
{
    int error;

    if (dies_with_us) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        /* The parent may have ended before prctl(). */
        if (getppid() != parent)
            _exit(STATUS_LOST);
    }
    if (!wait_for_start(fd))
        _exit(STATUS_LOST);
    signals_restore();
    execvpe(argv[0], argv, env);
    error = errno;
    while (write(fd, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(STATUS_NOT_EXECUTABLE);
}

/* Returns the errno that the child has written, or 0 if exec() has closed its end. */
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

/* Lets the child process start the command. Returns 0 or the errno of exec(). */
static int
let_start(int fd)
{
    const char byte = 0;

    /* A child that has been killed can't read it. */
    while (write(fd, &byte, sizeof byte) < 0 && errno == EINTR)
        ;
    return read_report(fd);
}

int
child_start(char **argv,
            char **env,
            gboolean dies_with_us,
            gboolean (*may_start)(gpointer data),
            gpointer data,
            pid_t *out_pid)
{
    pid_t parent = getpid();
    gboolean starts;
    int ends[2]; /* of this process, and of the child */
    int error = 0;

    *out_pid = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    *out_pid = fork();
    if (*out_pid == 0) {
        close(ends[0]);
        become(argv, env, dies_with_us, parent, ends[1]);
    }
    if (*out_pid < 0)
        error = errno;
    close(ends[1]);
    starts = *out_pid > 0 && may_start(data);
    if (starts)
        error = let_start(ends[0]);
    close(ends[0]);
    if (*out_pid > 0 && (!starts || error != 0))
        waitpid(*out_pid, NULL, 0);
    if (error == 0 && !starts)
        *out_pid = 0;
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
