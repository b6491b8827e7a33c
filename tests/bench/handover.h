/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Two processes in strict alternation, to measure a hand-over: one has the lock, the other sleeps
 * until it gets it. The holder waits until the other is asleep, stores the time and releases; the
 * other stores the time when it has the lock. Then the roles are exchanged. */

#pragma once

#include "bench.h"

typedef struct {
    /* In each process, before the first turn: connects; `first` acquires. */
    gpointer (*begin)(const char *address, gboolean first);
    /* Before the other process requests it, of the process that has acquired the lock; or NULL. */
    void (*settle)(gpointer player);
    /* Requests the lock, and returns when the request is queued. */
    void (*queue)(gpointer player);
    /* Waits until the lock is granted. */
    void (*acquire)(gpointer player);
    /* Releases the lock, and returns when that is confirmed. */
    void (*release)(gpointer player);
} Handover;

/* `count` hand-overs; prints mean, p50, p99. */
void handover_run(const Handover *handover, const char *address, guint count);
