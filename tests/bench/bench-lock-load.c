/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locks requested and released by many clients, or many at a time by one client.
 *
 *     bench-lock-load ADDRESS CLIENTS IN-FLIGHT COUNT
 *
 * COUNT pairs in total, the same number for each client. Every client is a process. Prints `rate`,
 * pairs per second. */

#include "load.h"

#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
    guint n_clients;
    Load load;

    if (argc != 5) {
        fprintf(stderr, "usage: bench-lock-load ADDRESS CLIENTS IN-FLIGHT COUNT\n");
        return 2;
    }
    n_clients = bench_number(argv[2]);
    load.address = argv[1];
    load.in_flight = bench_number(argv[3]);
    load.n_pairs = MAX(1, bench_number(argv[4]) / n_clients);
    bench_print("rate", load_measure(&load, n_clients, load_connect_locks, load_run_locks));
    return EXIT_SUCCESS;
}
