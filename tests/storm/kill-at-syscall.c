/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* kill-at-syscall PID K MS [send]: kills the process by SIGKILL when it enters or leaves its K-th
 * system call from now on; with `send`, its K-th that sends a message; in any case after MS
 * milliseconds. K counts both ends of a call.
 *
 * Prints `ready` when it counts, and then `TIME NUMBER IS-BEFORE-SEND`: the monotonic time in ns
 * immediately before the kill, the number of the system call (0 if there was none), and whether the
 * process was killed on entering a call that sends a message: then it has committed something that
 * it could not send. Prints `gone` instead if the process had ended before. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t is_late;

static void
on_alarm(int signal_number)
{
    is_late = 1;
}

static int
fail(const char *what)
{
    fprintf(stderr, "kill-at-syscall: %s: %s\n", what, strerror(errno));
    return 1;
}

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
start_alarm(long ms)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval timer = {.it_value = {ms / 1000, ms % 1000 * 1000}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* At a stop: the call, and whether this is its entry. */
static uint64_t
current_call(pid_t pid)
{
    struct __ptrace_syscall_info info;

    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return 0;
    return info.entry.nr;
}

static int
kill_it(pid_t pid, uint64_t call, int before_send)
{
    int status;

    printf("%" PRIu64 " %" PRIu64 " %d\n", now_ns(), call, before_send);
    fflush(stdout);
    kill(pid, SIGKILL);
    /* Its parent is notified of its end only after its tracer. */
    while (waitpid(pid, &status, __WALL) >= 0 || errno == EINTR)
        if (WIFSIGNALED(status) || WIFEXITED(status))
            break;
    return 0;
}

/* Continues it until its next stop. 1: at a system call; 0: elsewhere; -1: ended; -2: too late. */
static int
run_on(pid_t pid, int deliver)
{
    int status;

    if (ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)deliver) != 0)
        return errno == ESRCH ? -1 : -2;
    if (waitpid(pid, &status, __WALL) < 0)
        return errno == EINTR ? -2 : -1;
    if (!WIFSTOPPED(status))
        return -1;
    return WSTOPSIG(status) == (SIGTRAP | 0x80) ? 1 : 0;
}

static int
is_send(uint64_t call)
{
    return call == SYS_sendto || call == SYS_sendmsg || call == SYS_sendmmsg;
}

static int
count_calls(pid_t pid, long calls, int sends_only)
{
    uint64_t call = 0, entered = 0;

    /* Each call has two stops: half of the kills are before its effect and half after. */
    for (long stops = 0; stops < calls;) {
        const int r = run_on(pid, 0);

        if (r == -1) {
            puts("gone");
            return 0;
        }
        if (r == -2 || is_late)
            return kill_it(pid, 0, 0);
        if (r == 0)
            continue;
        entered = current_call(pid);
        if (entered != 0)
            call = entered;
        stops += !sends_only || is_send(call);
    }
    return kill_it(pid, call, is_send(entered));
}

int
main(int argc, char **argv)
{
    pid_t pid;
    int status;

    if (argc != 4 && (argc != 5 || strcmp(argv[4], "send") != 0))
        return 2;
    pid = (pid_t)strtol(argv[1], NULL, 10);
    if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0)
        return fail("can't trace");
    if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 || waitpid(pid, &status, __WALL) < 0)
        return fail("can't stop");
    puts("ready");
    fflush(stdout);
    start_alarm(strtol(argv[3], NULL, 10));
    return count_calls(pid, strtol(argv[2], NULL, 10), argc == 5);
}
