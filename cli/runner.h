/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The two processes of `weblocks run`.
 *
 * The *runner* is the process that was started, in whose process group the command runs. It passes
 * signals on, and returns the exit status. The *keeper* is its child: it has the connection,
 * requests the lock, holds and releases it, and starts the command, which is its child. So each of
 * the two may be killed: if the runner is, the lock is held until the command has ended; and if the
 * keeper is, which loses the lock, the runner ends the command.
 *
 * The child that becomes the command exists from the beginning, in the runner's process group. The
 * keeper is in this group, too, until it starts the command; so a signal from the terminal reaches
 * one of both. Then it moves to a session of its own: neither the keys of the terminal nor a
 * SIGKILL for the whole group reach it, and its end doesn't make the group an orphaned one, whose
 * stopped processes would get SIGHUP.
 *
 * With `no_fork` the command replaces the runner, and the keeper is no child of it.
 *
 * The command, and what it starts, inherits one end of a pipe. While any process has it, the lock
 * is held.
 *
 * Both forks come before the keeper reads the command line: what it learns from that, and what it
 * reports, is in memory that all share. Each of runner and keeper learns of the end of the other
 * one by a pidfd. */

#pragma once

#include <stdint.h>

#include "cli/child.h"

/* Strings are arguments, which are at the same address in all processes. */
struct Report {
    enum {
        KEEPER_RUNS,
        KEEPER_CALLS, /* the runner is to become the command, with `no_fork` */
        KEEPER_LEAVES /* the runner is to exit */
    } state;
    int status;    /* KEEPER_LEAVES: of the runner */
    pid_t keeper;  /* with `no_fork` */
    pid_t command; /* 0: it was not started, or is the runner */

    gboolean closes;       /* the command doesn't inherit the pipe */
    gboolean ignores_loss; /* the command isn't ended by a loss */
    double grace;          /* between SIGTERM and SIGKILL, in seconds */
    char *const *words;    /* the command, unless there is a line for the shell */
    const char *shell_line;
    guint n_locks;
    struct {
        const char *name;
        uint64_t token; /* 0: without a lock */
    } locks[];          /* in the order of the command line */
};

/* What the keeper has of the runner, and of the command. */
struct Keeper {
    pid_t runner;
    int runner_fd;           /* a pidfd */
    int wake_fd;             /* an eventfd, which wakes the runner */
    int ends[2];             /* of the pipe */
    volatile Report *report; /* shared */
    Child child;             /* that becomes the command; none with `no_fork` */
};

/* Takes the signals (signals.h), and splits the process. Returns TRUE in the keeper, whose main
 * loop has to be run next. The runner does not return, unless the process can't be split: then it
 * returns FALSE, and *out_status is the exit status. The report has room for `n_locks_max` locks.
 */
gboolean runner_split(gboolean no_fork, int n_locks_max, Keeper *out_keeper, int *out_status);

/* Reports that the command is started, as process `pid`, or 0: the runner becomes the command. The
 * tokens are in the report before. Moves this process to a session of its own. With 0, it has of
 * what it has inherited only standard error from then on. */
void keeper_report_start(const Keeper *self, pid_t pid);

/* Reports the exit status, once. The runner exits, without this process, which lets go before of
 * what somebody may wait for then: all descriptors that it has inherited, and its directory. A
 * child that has not become the command ends. */
void keeper_leave(Keeper *self, int status);

/* Whether no process has the command's end of the pipe. */
gboolean keeper_is_pipe_closed(const Keeper *self);
