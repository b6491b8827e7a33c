/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The child process of `weblocks run` that becomes the command: how it is started, and its exit
 * status. It exists from the beginning, since its process id is part of the request (the option
 * `for`), and waits. The caller owns the process, and reaps it after SIGCHLD (signals.h). */

#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct Keeper Keeper;
typedef struct Report Report;

typedef struct {
    pid_t pid; /* 0: there is none */
    int fd;    /* to the child, until it has become the command; -1: none */
} Child;

#define CHILD_NONE ((Child){.fd = -1})

/* The first word of the command. */
const char *child_get_program(const volatile Report *report);

/* Replaces this process by the command of the report, or returns the errno of exec(). The command
 * inherits the file descriptors that this process was started with, but none that it has opened
 * since (they are close-on-exec), and the signal dispositions from before signals_take(). It also
 * inherits `inherited`, unless that is -1, under a number that is not among those that scripts use.
 * Names and tokens are in its environment. */
int child_become(const volatile Report *report, int inherited);

/* Creates the child of the keeper, before this process has other threads. Unless a loss is ignored,
 * it gets SIGTERM when this process ends first. Returns 0 or an errno. */
int child_fork(Child *child, const Keeper *keeper);

/* Lets the child become the command of the report. What the terminal sends to the process group
 * from now on, the command gets. When `fd` is readable or closed, it is one. */
void child_start(Child *child);

/* Returns 0, or the errno of exec(): then the child has ended and was reaped. */
int child_finish_start(Child *child);

/* Ends a child that has not become the command, if there is one. */
void child_cancel(Child *child);

/* Reaps all children that have ended. Returns TRUE if `pid` is one of them; then *out_status is its
 * status as a shell computes it: 128 + the number for a signal. */
gboolean child_reap(pid_t pid, int *out_status);
