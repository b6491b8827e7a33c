/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The latency that the kernel alone causes for a client beside others: as bench-calm, with two
 * bytes to an echo process and back in place of a lock.
 *
 *     bench-calm-echo NEIGHBOURS COUNT
 *
 * The neighbours are clients of the same echo process, each with many bytes in flight.
 *
 * Prints `alone-...` and `beside-...` with mean, p50 and p99, as bench-calm does. */

#include "calm.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_NEIGHBOURS 64
#define IN_FLIGHT      64
/* The number of bytes that the echo process takes from one client before the next: as many as the
 * service takes calls in a turn. */
#define PER_TURN 8

/* ---- processes, which never return */

/* Byte by byte, one system call in each direction: like a service without any other work. */
static void
echo_some(int fd, guint n_left)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    for (; n_left > 0 && poll(&ready, 1, 0) > 0; n_left--) {
        bench_wait_notified(fd);
        bench_notify(fd);
    }
}

static void
run_echo(const int *fds, guint n_fds)
{
    struct pollfd polled[MAX_NEIGHBOURS + 1];

    for (guint i = 0; i < n_fds; i++)
        polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    while (TRUE) {
        int n_ready = poll(polled, n_fds, -1);

        bench_check_errno(n_ready > 0, "poll");
        for (guint i = 0; i < n_fds; i++)
            if (polled[i].revents != 0)
                echo_some(fds[i], MAX(PER_TURN / (guint)n_ready, 1));
    }
}

static void
run_neighbour(int fd)
{
    for (guint i = 0; i < IN_FLIGHT; i++)
        bench_notify(fd);
    while (TRUE) {
        bench_wait_notified(fd);
        bench_notify(fd);
    }
}

/* ---- start */

static pid_t
start_neighbour(int fd)
{
    pid_t child = bench_fork();

    if (child == 0)
        run_neighbour(fd);
    return child;
}

static pid_t
start_echo(const int *fds, guint n_fds)
{
    pid_t child = bench_fork();

    if (child == 0)
        run_echo(fds, n_fds);
    return child;
}

int
main(int argc, char **argv)
{
    int pair[2], ends[MAX_NEIGHBOURS + 1], fds[MAX_NEIGHBOURS + 1];
    pid_t children[MAX_NEIGHBOURS + 1];
    guint n_neighbours, count;
    Calm calm = {calm_echo_twice, NULL, NULL};

    if (argc != 3) {
        fprintf(stderr, "usage: bench-calm-echo NEIGHBOURS COUNT\n");
        return 2;
    }
    n_neighbours = bench_number(argv[1]);
    count = bench_number(argv[2]);
    if (n_neighbours > MAX_NEIGHBOURS)
        bench_die("neighbours", "too many");
    for (guint i = 0; i <= n_neighbours; i++) {
        bench_make_pair(pair);
        fds[i] = pair[0];
        ends[i] = pair[1];
    }
    calm.data = &fds[n_neighbours];
    children[n_neighbours] = start_echo(ends, n_neighbours + 1);
    calm.prefix = "alone-";
    calm_measure(&calm, 1, count);
    for (guint i = 0; i < n_neighbours; i++)
        children[i] = start_neighbour(fds[i]);
    calm.prefix = "beside-";
    calm_measure(&calm, 1, count);
    for (guint i = 0; i <= n_neighbours; i++)
        bench_kill(children[i]);
    return EXIT_SUCCESS;
}
