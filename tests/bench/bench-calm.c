/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The latency of one client beside others: it requests and releases one lock after the other, first
 * alone, then while other processes request as many locks as they can. Alternating with the locks,
 * it sends two bytes to an echo process and back: the latency that the kernel alone causes beside
 * the same neighbours.
 *
 *     bench-calm ADDRESS NEIGHBOURS IN-FLIGHT COUNT
 *
 * Prints `alone-...`, `beside-...`, `echo-alone-...` and `echo-beside-...` with mean, p50 and p99,
 * of COUNT each, or of as many as fit into a fixed time. */

#include "calm.h"
#include "load.h"

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
    bench_wait_notified(fd);
    client = load_connect_locks(load, index);
    bench_notify(fd);
    load_run_locks(load, client);
    _exit(EXIT_SUCCESS);
}

static void
request_and_release(gpointer manager)
{
    g_autoptr(WebLocksLock) lock = bench_request(manager, "printer");

    bench_release(lock);
}

static void
measure(WebLocksManager *manager, int echo, gboolean is_alone, guint count)
{
    const Calm calms[] = {
        {request_and_release, manager, is_alone ? "alone-" : "beside-"},
        {calm_echo_twice, &echo, is_alone ? "echo-alone-" : "echo-beside-"},
    };

    calm_measure(calms, G_N_ELEMENTS(calms), count);
}

int
main(int argc, char **argv)
{
    g_autoptr(WebLocksAgent) agent = NULL;
    g_autoptr(WebLocksManager) manager = NULL;
    pid_t neighbours[MAX_NEIGHBOURS], echo;
    Load load = {.n_pairs = G_MAXUINT};
    guint n_neighbours, count;
    int pair[2], echo_pair[2];

    bench_check_usage(argc == 5, "ADDRESS NEIGHBOURS IN-FLIGHT COUNT");
    load.address = argv[1];
    n_neighbours = bench_number(argv[2]);
    load.in_flight = bench_number(argv[3]);
    count = bench_number(argv[4]);
    if (n_neighbours > MAX_NEIGHBOURS)
        bench_die("neighbours", "too many");
    bench_make_pair(pair);
    bench_make_pair(echo_pair);
    for (guint i = 0; i < n_neighbours; i++)
        neighbours[i] = start_neighbour(&load, i, pair[1]);
    echo = calm_start_echo(echo_pair[1]);

    agent = bench_agent_new(load.address);
    manager = bench_manager_new(agent, "calm");
    measure(manager, echo_pair[0], TRUE, count);
    for (guint i = 0; i < n_neighbours; i++)
        bench_notify(pair[0]);
    for (guint i = 0; i < n_neighbours; i++)
        bench_wait_notified(pair[0]);
    measure(manager, echo_pair[0], FALSE, count);
    for (guint i = 0; i < n_neighbours; i++)
        bench_kill(neighbours[i]);
    bench_kill(echo);
    return EXIT_SUCCESS;
}
