/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The child process of `weblocks run`: how it is started, and its exit status. The caller owns the
 * process, and reaps it after SIGCHLD (signals.h). */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Starts the command. It inherits the file descriptors that this process was started with, but
 * none that it has opened since (they are close-on-exec), and the signal dispositions from before
 * signals_take(). With `dies_with_us` it gets SIGTERM when this process ends first.
 *
 * `may_start` is called when the child process exists, before exec(): what the terminal sends to
 * the process group after that call, the command gets. If it returns FALSE, the child process is
 * ended, and the process id is 0.
 *
 * Returns 0 and the process id, or the errno of fork() or exec(); after a failed fork() the process
 * id is -1. */
int child_start(char **argv,
                char **env,
                gboolean dies_with_us,
                gboolean (*may_start)(gpointer data),
                gpointer data,
                pid_t *out_pid);

/* Returns TRUE if the process has ended; then *out_status is the status as a shell computes it:
 * 128 + the number for a signal. */
gboolean child_reap(pid_t pid, int *out_status);
