/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "calm.h"

#define PAUSE_US 200 /* calm: not as fast as it can */
#define WHILE_NS 2000000000ULL

void
calm_measure(CalmOperation operation, gpointer data, guint count, const char *prefix)
{
    BenchSamples *samples = bench_samples_new_shared(count);
    guint64 end = bench_now() + WHILE_NS;

    for (guint i = 0; i < count && bench_now() < end; i++) {
        guint64 begin;

        bench_pause(PAUSE_US);
        begin = bench_now();
        operation(data);
        bench_samples_add(samples, begin, bench_now());
    }
    bench_samples_print(samples, prefix);
}
