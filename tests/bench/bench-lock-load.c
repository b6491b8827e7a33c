/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locks requested and released by many clients, or many at a time by one client; and what bounds
 * their throughput, the same with fewer and fewer components.
 *
 *     bench-lock-load ADDRESS WAY CLIENTS IN-FLIGHT COUNT
 *
 * WAY is
 *   async    locks requested and released by asynchronous calls of the library;
 *   sync     the same by synchronous calls, one at a time;
 *   packets  the same by packets without the library (hand.h), one at a time;
 *   echo     two round trips of a byte with a process that waits by epoll and sends each byte back.
 *
 * COUNT pairs in total, the same number for each client. Every client is a process. Prints `rate`,
 * pairs per second. */

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "calm.h"
#include "hand.h"
#include "load.h"

#define CLIENTS_MAX 256
#define EVENTS_MAX  64

/* ---- locks by the library */

typedef struct {
    WebLocksManager *manager;
    char name[32];
} SyncClient;

static gpointer
connect_sync(const Load *load, guint index)
{
    g_autoptr(WebLocksAgent) agent = bench_agent_new(load->address);
    SyncClient *client = g_new0(SyncClient, 1);

    client->manager = bench_manager_new(agent, "bench");
    g_snprintf(client->name, sizeof client->name, "document %u", index);
    bench_barrier(agent);
    return client;
}

static void
run_sync(const Load *load, gpointer data)
{
    SyncClient *client = data;

    for (guint i = 0; i < load->n_pairs; i++) {
        g_autoptr(WebLocksLock) lock = bench_request(client->manager, client->name);

        bench_release(lock);
    }
}

/* ---- locks by packets */

typedef struct {
    Hand *hand;
    char name[32];
} HandClient;

static gpointer
connect_hand(const Load *load, guint index)
{
    HandClient *client = g_new0(HandClient, 1);

    client->hand = hand_new(load->address);
    g_snprintf(client->name, sizeof client->name, "document %u", index);
    return client;
}

static void
run_hand(const Load *load, gpointer data)
{
    HandClient *client = data;

    for (guint i = 0; i < load->n_pairs; i++)
        hand_release(client->hand, hand_request(client->hand, client->name));
}

/* ---- echoes */

static int echo_pairs[CLIENTS_MAX][2]; /* one end for the client, the other for the echo process */

static gpointer
connect_echo(const Load *load, guint index)
{
    return &echo_pairs[index][0];
}

static void
run_echo(const Load *load, gpointer data)
{
    for (guint i = 0; i < load->n_pairs; i++)
        calm_echo_twice(data);
}

static void
echo(guint n_clients)
{
    struct epoll_event events[EVENTS_MAX];
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);

    bench_check_errno(epoll_fd >= 0, "epoll");
    for (guint i = 0; i < n_clients; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = echo_pairs[i][1]};

        bench_check_errno(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event.data.fd, &event) == 0, "epoll");
    }
    for (;;) {
        int n_events = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

        for (int i = 0; i < n_events; i++) {
            bench_wait_notified(events[i].data.fd);
            bench_notify(events[i].data.fd);
        }
    }
}

static double
measure_echo(const Load *load, guint n_clients)
{
    pid_t child;
    double rate;

    if (n_clients > CLIENTS_MAX)
        bench_die("clients", "too many");
    for (guint i = 0; i < n_clients; i++)
        bench_make_pair(echo_pairs[i]);
    child = bench_fork();
    if (child == 0)
        echo(n_clients);
    rate = load_measure(load, n_clients, connect_echo, run_echo);
    bench_kill(child);
    return rate;
}

int
main(int argc, char **argv)
{
    guint n_clients;
    Load load;

    bench_check_usage(argc == 6, "ADDRESS async|sync|packets|echo CLIENTS IN-FLIGHT COUNT");
    n_clients = bench_number(argv[3]);
    load.address = argv[1];
    load.in_flight = bench_number(argv[4]);
    load.n_pairs = MAX(1, bench_number(argv[5]) / n_clients);
    if (g_str_equal(argv[2], "async"))
        bench_print("rate", load_measure(&load, n_clients, load_connect_locks, load_run_locks));
    else if (g_str_equal(argv[2], "sync"))
        bench_print("rate", load_measure(&load, n_clients, connect_sync, run_sync));
    else if (g_str_equal(argv[2], "packets"))
        bench_print("rate", load_measure(&load, n_clients, connect_hand, run_hand));
    else if (g_str_equal(argv[2], "echo"))
        bench_print("rate", measure_echo(&load, n_clients));
    else
        bench_die(argv[2], "neither async, sync, packets nor echo");
    return EXIT_SUCCESS;
}
