/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A calm client among noisy neighbours: one lock requested and released after the other, awaited,
 * alone and then while other processes ask for as many locks as they can get.
 *
 *     bench-calm ADDRESS PATH NEIGHBOURS IN-FLIGHT COUNT
 *
 * Prints `alone-...` and `beside-...` with mean, p50 and p99, of COUNT pairs each, or of as many as
 * there were in a while. */

#include "calm.h"
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_NEIGHBOURS 64

static pid_t
start_neighbour(const Load *load, guint index, int fd)
{
    pid_t child = bench_fork();
    gpointer client;

    if (child != 0)
        return child;
    bench_hear(fd);
    client = load_connect_locks(load, index);
    bench_tell(fd);
    load_run_locks(load, client);
    _exit(EXIT_SUCCESS);
}

static void
request_and_release(gpointer manager)
{
    g_autoptr(WebLocksLock) lock = bench_request(manager, "printer");

    bench_release(lock);
}

int
main(int argc, char **argv)
{
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(WebLocksManager) manager = NULL;
    pid_t neighbours[MAX_NEIGHBOURS];
    Load load = {.n_pairs = G_MAXUINT};
    guint n_neighbours, count;
    int pair[2];

    if (argc != 6) {
        fprintf(stderr, "usage: bench-calm ADDRESS PATH NEIGHBOURS IN-FLIGHT COUNT\n");
        return 2;
    }
    load.address = argv[1];
    load.path = argv[2];
    n_neighbours = bench_number(argv[3]);
    load.in_flight = bench_number(argv[4]);
    count = bench_number(argv[5]);
    if (n_neighbours > MAX_NEIGHBOURS)
        bench_die("neighbours", "too many");
    bench_make_pair(pair);
    for (guint i = 0; i < n_neighbours; i++)
        neighbours[i] = start_neighbour(&load, i, pair[1]);

    agent = bench_agent_new(load.address, load.path);
    manager = bench_manager_new(agent, "calm");
    calm_measure(request_and_release, manager, count, "alone-");
    for (guint i = 0; i < n_neighbours; i++)
        bench_tell(pair[0]);
    for (guint i = 0; i < n_neighbours; i++)
        bench_hear(pair[0]);
    calm_measure(request_and_release, manager, count, "beside-");
    for (guint i = 0; i < n_neighbours; i++)
        bench_kill(neighbours[i]);
    return EXIT_SUCCESS;
}
