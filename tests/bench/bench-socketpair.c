/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The minimal cost of two processes and a socket, without any protocol.
 *
 *     bench-socketpair WAY COUNT
 *
 * WAY is
 *   round-trip  a byte there and a byte back, without pause;
 *   wake-up     a byte that wakes a sleeping process, one way, alternating. */

#include "bench.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define WARM_UP   200
#define SETTLE_US 100

static void
round_trips(guint count, BenchSamples *samples)
{
    int pair[2];
    pid_t child;

    bench_make_pair(pair);
    child = bench_fork();
    if (child == 0) {
        for (guint i = 0; i < WARM_UP + count; i++) {
            bench_wait_notified(pair[1]);
            bench_notify(pair[1]);
        }
        _exit(EXIT_SUCCESS);
    }
    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        bench_notify(pair[0]);
        bench_wait_notified(pair[0]);
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    bench_join(child);
}

/* One of the two processes: `first` wakes the other, then is woken. */
static void
play(int fd, gboolean first, guint count, BenchSamples *samples, guint64 *sent_at)
{
    for (guint i = 0; i < count; i++) {
        if ((i % 2 == 0) == first) {
            bench_pause(SETTLE_US); /* until the other process sleeps */
            *sent_at = bench_now();
            bench_notify(fd);
        } else {
            bench_wait_notified(fd);
            bench_samples_add(samples, *sent_at, bench_now());
        }
    }
}

static void
wake_ups(guint count, BenchSamples *samples)
{
    guint64 *sent_at =
        mmap(NULL, sizeof *sent_at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int pair[2];
    pid_t child;

    bench_check_errno(sent_at != MAP_FAILED, "shared memory");
    bench_make_pair(pair);
    child = bench_fork();
    if (child == 0) {
        play(pair[1], FALSE, count, samples, sent_at);
        _exit(EXIT_SUCCESS);
    }
    play(pair[0], TRUE, count, samples, sent_at);
    bench_join(child);
}

int
main(int argc, char **argv)
{
    BenchSamples *samples;
    guint count;

    bench_check_usage(argc == 3, "round-trip|wake-up COUNT");
    count = bench_number(argv[2]);
    samples = bench_samples_new_shared(count);
    if (g_str_equal(argv[1], "round-trip"))
        round_trips(count, samples);
    else if (g_str_equal(argv[1], "wake-up"))
        wake_ups(count, samples);
    else
        bench_die(argv[1], "neither round-trip nor wake-up");
    bench_samples_print(samples, "");
    return EXIT_SUCCESS;
}
