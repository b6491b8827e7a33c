/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/state/kill-at-call.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns the child, stopped before it runs; -1: it can't be traced. */
static pid_t
start(const KillTarget *target)
{
    int status;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(EXIT_FAILURE);
        raise(SIGSTOP);
        target->run(target->data);
        _exit(EXIT_SUCCESS);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (!WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) < 0)
        return -1;
    return pid;
}

/* Whether the call that the process is stopped at counts. `*number` is that of the call since its
 * entry. */
static gboolean
counts(const KillTarget *target, pid_t pid, guint64 *number)
{
    struct __ptrace_syscall_info info;

    g_assert_cmpint(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info), >, 0);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
        *number = info.entry.nr;
    else if (*number == target->instant && target->instant != 0)
        return FALSE;
    for (guint i = 0; i < target->n_harmless; i++)
        if (*number == target->harmless[i])
            return FALSE;
    return TRUE;
}

/* Continues until the next stop at a system call. Returns FALSE if the process has exited. */
static gboolean
continue_to_call(pid_t pid)
{
    int status;

    g_assert_cmpint(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (WIFEXITED(status)) {
        g_assert_cmpint(WEXITSTATUS(status), ==, EXIT_SUCCESS);
        return FALSE;
    }
    g_assert_true(WIFSTOPPED(status));
    return TRUE;
}

KillResult
kill_at_call(const KillTarget *target, guint n)
{
    const pid_t pid = start(target);
    guint64 number = 0;
    int status;

    if (pid < 0)
        return KILL_NOT_PERMITTED;
    for (guint i = 0; i < n;) {
        if (!continue_to_call(pid))
            return KILL_EXITED;
        i += (guint)counts(target, pid, &number);
    }
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status));
    return KILL_DONE;
}
