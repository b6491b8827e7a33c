/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The command that `run` runs. */

#pragma once

#include <glib.h>
#include <sys/types.h>

/* Starts it with our standard streams and whatever else we were given, but nothing that we opened,
 * and with the signals as they were before signals_take(). With `dies_with_us` it gets SIGTERM if
 * we are gone before it is. 0, and the process id; or the errno that fork() or exec() gave. */
int child_start(char **argv, char **env, gboolean dies_with_us, pid_t *out_pid);

/* TRUE if it has ended; then *out_status is the status that a shell would have for it. */
gboolean child_reap(pid_t pid, int *out_status);
