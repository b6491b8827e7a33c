/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A client that does an operation now and then, and measures how long it takes each time. */

#pragma once

#include "bench.h"

/* One thing that it does. */
typedef struct {
    void (*operation)(gpointer data);
    gpointer data;
    const char *prefix;
} Calm;

/* Does each of them in turn, `count` times or as often as there is time for. Prints PREFIXmean,
 * PREFIXp50, and so on, of each. */
void calm_measure(const Calm *calms, guint n_calms, guint count);

/* Two round trips of a byte over a socketpair (`data` points to the descriptor), which is what a
 * request and a release cost at least. */
void calm_echo_twice(gpointer data);
