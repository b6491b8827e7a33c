/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The latency that the kernel alone causes for a client beside others: as bench-calm, with two
 * bytes to an echo process and back in place of a lock.
 *
 *     bench-calm-echo WAY NEIGHBOURS COUNT
 *
 * WAY is the kind of neighbours:
 *   busy   processes that compute;
 *   pairs  pairs of processes that send bytes to each other and back without pause;
 *   same   clients of the same echo process, each with as many bytes in flight as allowed.
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
run_busy(void)
{
    for (volatile guint64 n = 0;; n++)
        ;
}

static void
run_client(int fd, guint in_flight)
{
    for (guint i = 0; i < in_flight; i++)
        bench_notify(fd);
    while (TRUE) {
        bench_wait_notified(fd);
        bench_notify(fd);
    }
}

/* ---- start */

/* Stores the pids in `children`; returns their number. */
static guint
start_busy(pid_t *children)
{
    children[0] = bench_fork();
    if (children[0] == 0)
        run_busy();
    return 1;
}

static guint
start_client(pid_t *children, int fd, guint in_flight)
{
    children[0] = bench_fork();
    if (children[0] == 0)
        run_client(fd, in_flight);
    return 1;
}

static guint
start_echo(pid_t *children, const int *fds, guint n_fds)
{
    children[0] = bench_fork();
    if (children[0] == 0)
        run_echo(fds, n_fds);
    return 1;
}

static guint
start_neighbour(pid_t *children, const char *way, int same_fd)
{
    int pair[2];

    if (g_str_equal(way, "busy"))
        return start_busy(children);
    if (g_str_equal(way, "same"))
        return start_client(children, same_fd, IN_FLIGHT);
    if (!g_str_equal(way, "pairs"))
        bench_die(way, "neither busy nor pairs nor same");
    bench_make_pair(pair);
    return start_echo(children, &pair[1], 1) + start_client(children + 1, pair[0], 1);
}

int
main(int argc, char **argv)
{
    int pair[2], ends[MAX_NEIGHBOURS + 1], fds[MAX_NEIGHBOURS + 1];
    pid_t children[2 * MAX_NEIGHBOURS + 1];
    guint n_neighbours, count, n_children;
    Calm calm = {calm_echo_twice, NULL, NULL};

    if (argc != 4) {
        fprintf(stderr, "usage: bench-calm-echo busy|pairs|same NEIGHBOURS COUNT\n");
        return 2;
    }
    n_neighbours = bench_number(argv[2]);
    count = bench_number(argv[3]);
    if (n_neighbours > MAX_NEIGHBOURS)
        bench_die("neighbours", "too many");
    for (guint i = 0; i <= n_neighbours; i++) {
        bench_make_pair(pair);
        fds[i] = pair[0];
        ends[i] = pair[1];
    }
    calm.data = &fds[n_neighbours];
    n_children = start_echo(children, ends, n_neighbours + 1);
    calm.prefix = "alone-";
    calm_measure(&calm, 1, count);
    for (guint i = 0; i < n_neighbours; i++)
        n_children += start_neighbour(children + n_children, argv[1], fds[i]);
    calm.prefix = "beside-";
    calm_measure(&calm, 1, count);
    for (guint i = 0; i < n_children; i++)
        bench_kill(children[i]);
    return EXIT_SUCCESS;
}
