/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "calm.h"

#define PAUSE_US 200 /* calm: not as fast as it can */
#define WHILE_NS 2000000000ULL
#define MAX_CALM 2

void
calm_measure(const Calm *calms, guint n_calms, guint count)
{
    BenchSamples *samples[MAX_CALM];
    guint64 end = bench_now() + WHILE_NS * n_calms;

    g_assert(n_calms <= MAX_CALM);
    for (guint k = 0; k < n_calms; k++)
        samples[k] = bench_samples_new_shared(count);
    for (guint i = 0; i < count && bench_now() < end; i++) {
        for (guint k = 0; k < n_calms; k++) {
            guint64 begin;

            bench_pause(PAUSE_US);
            begin = bench_now();
            calms[k].operation(calms[k].data);
            bench_samples_add(samples[k], begin, bench_now());
        }
    }
    for (guint k = 0; k < n_calms; k++) {
        bench_samples_print(samples[k], calms[k].prefix);
        bench_samples_free(samples[k]);
    }
}

pid_t
calm_start_echo(int fd)
{
    pid_t child = bench_fork();

    if (child != 0)
        return child;
    while (TRUE) {
        bench_wait_notified(fd);
        bench_notify(fd);
    }
}

void
calm_echo_twice(gpointer data)
{
    const int *fd = data;

    for (guint i = 0; i < 2; i++) {
        bench_notify(*fd);
        bench_wait_notified(*fd);
    }
}
