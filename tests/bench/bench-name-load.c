/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Bus names requested and released by many clients, or many at a time by one client. Clients on
 * bare sockets (raw-bus.h); a client with several calls in flight sends them by one write().
 *
 *     bench-name-load ADDRESS CLIENTS IN-FLIGHT COUNT
 *
 * COUNT pairs in total, the same number for each client. Every client is a process. Prints `rate`,
 * pairs per second. */

#include "load.h"

#include <stdlib.h>

#include "raw-bus.h"

typedef struct {
    RawBus *bus;
    RawCall **requests;
    RawCall **releases;
} NameClient;

static gpointer
connect_names(const Load *load, guint index)
{
    NameClient *client = g_new0(NameClient, 1);

    client->bus = raw_bus_new(load->address);
    client->requests = g_new0(RawCall *, load->in_flight);
    client->releases = g_new0(RawCall *, load->in_flight);
    for (guint i = 0; i < load->in_flight; i++) {
        g_autofree char *name = g_strdup_printf("org.w3.WebLocks.Bench%u.Document%u", index, i);

        client->requests[i] = raw_call_new_request_name(name);
        client->releases[i] = raw_call_new_release_name(name);
    }
    return client;
}

static void
call_all(NameClient *client, RawCall *const *calls, guint n)
{
    raw_bus_send_all(client->bus, calls, n);
    for (guint i = 0; i < n; i++)
        if (raw_bus_await_reply(client->bus) != RAW_NAME_OWNER)
            bench_die("bus name", "an answer that was not expected");
}

static void
run_names(const Load *load, gpointer data)
{
    NameClient *client = data;

    for (guint left = load->n_pairs; left > 0;) {
        guint n = MIN(left, load->in_flight);

        call_all(client, client->requests, n);
        call_all(client, client->releases, n);
        left -= n;
    }
}

int
main(int argc, char **argv)
{
    guint n_clients;
    Load load = {NULL};

    bench_check_usage(argc == 5, "ADDRESS CLIENTS IN-FLIGHT COUNT");
    n_clients = bench_number(argv[2]);
    load.address = argv[1];
    load.in_flight = bench_number(argv[3]);
    load.n_pairs = MAX(1, bench_number(argv[4]) / n_clients);
    bench_print("rate", load_measure(&load, n_clients, connect_names, run_names));
    return EXIT_SUCCESS;
}
