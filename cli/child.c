/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <paths.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/runner.h"
#include "cli/signals.h"
#include "cli/status.h"

/* Scripts redirect descriptors of one digit. */
#define INHERITED_MIN 10

/* The variables of the first name have no number, those of the second one end with _2. Without a
 * lock there are none. Returns whether there were any. */
static gboolean
set_variables(guint number, const char *lock, uint64_t token)
{
    char name_variable[32] = "WEBLOCKS_NAME", token_variable[32] = "WEBLOCKS_TOKEN", digits[32];
    gboolean were_set;

    if (number > 1) {
        snprintf(name_variable, sizeof name_variable, "WEBLOCKS_NAME_%u", number);
        snprintf(token_variable, sizeof token_variable, "WEBLOCKS_TOKEN_%u", number);
    }
    were_set = getenv(name_variable) != NULL || getenv(token_variable) != NULL;
    if (token == 0) {
        unsetenv(name_variable);
        unsetenv(token_variable);
    } else {
        snprintf(digits, sizeof digits, "%" PRIu64, token);
        setenv(name_variable, lock, 1);
        setenv(token_variable, digits, 1);
    }
    return were_set;
}

/* Those of a `weblocks run` around this one are not for its command. */
static void
set_environment(const volatile Report *report)
{
    guint number = 0;

    for (; number < report->n_locks; number++)
        set_variables(number + 1, report->locks[number].name, report->locks[number].token);
    while (set_variables(++number, NULL, 0))
        ;
}

const char *
child_get_program(const volatile Report *report)
{
    const char *shell = getenv("SHELL");

    if (report->shell_line == NULL)
        return report->words[0];
    return shell != NULL && *shell != '\0' ? shell : _PATH_BSHELL;
}

int
child_become(const volatile Report *report, int inherited)
{
    char *const shell[] = {(char *)child_get_program(report), (char *)"-c",
                           (char *)report->shell_line, NULL};
    char *const *words = report->shell_line != NULL ? shell : report->words;

    if (inherited >= 0 && fcntl(inherited, F_DUPFD, INHERITED_MIN) < 0)
        return errno;
    if (report->ignores_loss)
        prctl(PR_SET_PDEATHSIG, 0);
    set_environment(report);
    signals_restore();
    execvp(words[0], words);
    return errno;
}

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

/* Runs in the child, which has only this thread. */
static void G_GNUC_NORETURN
run_child(const Keeper *keeper, pid_t parent, int fd)
{
    int error;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* The parent may have ended before prctl(). */
    if (getppid() != parent || !wait_for_start(fd))
        _exit(STATUS_LOST);
    error = child_become(keeper->report, keeper->report->closes ? -1 : keeper->ends[1]);
    while (write(fd, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(STATUS_NOT_EXECUTABLE);
}

int
child_fork(Child *child, const Keeper *keeper)
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
        run_child(keeper, parent, ends[1]);
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
child_start(Child *child)
{
    const char byte = 0;

    /* A child that has been killed can't read it. */
    while (write(child->fd, &byte, sizeof byte) < 0 && errno == EINTR)
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
    if (child->pid <= 0)
        return;
    close(child->fd);
    kill(child->pid, SIGKILL); /* also if it is stopped */
    waitpid(child->pid, NULL, 0);
    *child = CHILD_NONE;
}

gboolean
child_reap(pid_t pid, int *out_status)
{
    gboolean found = FALSE;
    pid_t ended;
    int status;

    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        if (ended != pid)
            continue;
        found = TRUE;
        *out_status =
            WIFSIGNALED(status) ? STATUS_SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status);
    }
    return found;
}
