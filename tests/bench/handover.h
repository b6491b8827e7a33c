/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Two processes in strict alternation, for what a hand-over costs: one has something, the other
 * sleeps and waits for it. The one that has it waits until the other is surely asleep, notes the
 * time and lets go; the other notes the time when it has it. Then the other way round. */

#pragma once

#include "bench.h"

typedef struct {
    /* In the process that plays, before the first turn: connects; `first` acquires. */
    gpointer (*begin)(const char *address, gboolean first);
    /* Gets in line, and returns when that is sure. */
    void (*queue)(gpointer player);
    /* Waits until it is ours. */
    void (*acquire)(gpointer player);
    /* Lets go, and returns when that is confirmed. */
    void (*release)(gpointer player);
} Handover;

/* `count` hand-overs; prints mean, p50, p99. */
void handover_run(const Handover *handover, const char *address, guint count);
