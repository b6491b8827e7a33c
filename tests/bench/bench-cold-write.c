/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a bare write to a file costs a process whose caches another one has filled: the least that
 * storing could cost.
 *
 *     bench-cold-write BYTES COUNT
 *
 * Prints `write`: the processor time in microseconds that a write of BYTES adds to what a process
 * does between two wake-ups. It makes one at every second of COUNT wake-ups. The file is in
 * /dev/shm, and its room is allocated, as for the stored state. */

#include "bench.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARM_UP    200
#define FILE_BYTES 262144

static int
open_file(void)
{
    char path[] = "/dev/shm/weblocks-bench-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    bench_check_errno(fd >= 0 && unlink(path) == 0, path);
    bench_check_errno(fallocate(fd, 0, 0, FILE_BYTES) == 0, "fallocate");
    return fd;
}

/* The process that is woken. */
static void
serve(int wake_fd, guint n_bytes, guint count)
{
    g_autofree char *bytes = g_malloc0(n_bytes);
    double spent_us[2] = {0}; /* without and with a write */
    int fd = open_file();
    off_t at = 0;

    for (guint i = 0; i < WARM_UP + count; i++) {
        const double begun_us = bench_cpu_time(0);

        bench_wait_notified(wake_fd);
        if (i % 2 != 0) {
            bench_check_errno(pwrite(fd, bytes, n_bytes, at) == (ssize_t)n_bytes, "pwrite");
            at = (at + n_bytes) % (FILE_BYTES - n_bytes);
        }
        bench_notify(wake_fd);
        if (i >= WARM_UP)
            spent_us[i % 2] += bench_cpu_time(0) - begun_us;
    }
    bench_print("write", (spent_us[1] - spent_us[0]) * 2 / count);
    exit(EXIT_SUCCESS);
}

int
main(int argc, char **argv)
{
    guint n_bytes, count;
    int pair[2];
    pid_t child;

    bench_check_usage(argc == 3, "BYTES COUNT");
    n_bytes = bench_number(argv[1]);
    count = bench_number(argv[2]);
    bench_make_pair(pair);
    child = bench_fork();
    if (child == 0)
        serve(pair[1], n_bytes, count);
    for (guint i = 0; i < WARM_UP + count; i++) {
        bench_fill_caches();
        bench_notify(pair[0]);
        bench_wait_notified(pair[0]);
    }
    bench_join(child);
    return EXIT_SUCCESS;
}
