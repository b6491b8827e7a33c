/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client that does an operation at intervals, and measures the duration of each. */

#pragma once

#include "bench.h"

/* One of its operations. */
typedef struct {
    void (*operation)(gpointer data);
    gpointer data;
    const char *prefix;
} Calm;

/* Does the operations in turn, `count` times or within a time limit. Prints PREFIXmean, PREFIXp50,
 * and so on, of each. */
void calm_measure(const Calm *calms, guint n_calms, guint count);

/* A process that sends each byte back that it gets on `fd`, for calm_echo_twice(). */
pid_t calm_start_echo(int fd);

/* Two round trips of a byte on a socketpair (`data` points to the descriptor), the minimal cost of
 * a request and a release. */
void calm_echo_twice(gpointer data);
