/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locks requested and released by many clients, or many at a time by one client; what bounds their
 * throughput, the same with fewer and fewer components; and bus names.
 *
 *     bench-load ADDRESS WAY CLIENTS IN-FLIGHT COUNT
 *
 * WAY is
 *   async    locks requested and released by asynchronous calls of the library;
 *   sync     the same by synchronous calls, one at a time;
 *   packets  the same by packets without the library (hand.h), one at a time;
 *   echo     two round trips of a byte with a process that waits by epoll and sends each byte back;
 *   names    bus names, by clients on bare sockets (raw-bus.h); one with several calls in flight
 *            sends them by one write().
 *
 * COUNT pairs in total, the same number for each client. Every client is a process. Prints `rate`,
 * pairs per second. */

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hand.h"
#include "load.h"
#include "raw-bus.h"

#define CLIENTS_MAX 256
#define EVENTS_MAX  64

/* ---- one lock at a time, by the library or by packets */

typedef struct {
    WebLocksManager *manager;
    Hand *hand;
    char name[32];
} Client;

static Client *
client_new(guint index)
{
    Client *client = g_new0(Client, 1);

    g_snprintf(client->name, sizeof client->name, "document %u", index);
    return client;
}

static gpointer
connect_sync(const Load *load, guint index)
{
    WebLocksAgent *agent = bench_agent_new(load->address);
    Client *client = client_new(index);

    client->manager = bench_manager_new(agent, "bench");
    bench_barrier(agent);
    return client;
}

static void
run_sync(const Load *load, gpointer data)
{
    const Client *client = data;

    for (guint i = 0; i < load->n_pairs; i++) {
        g_autoptr(WebLocksLock) lock = bench_request(client->manager, client->name);

        bench_release(lock);
    }
}

static gpointer
connect_hand(const Load *load, guint index)
{
    Client *client = client_new(index);

    client->hand = hand_new(load->address);
    return client;
}

static void
run_hand(const Load *load, gpointer data)
{
    const Client *client = data;

    for (guint i = 0; i < load->n_pairs; i++)
        hand_release(client->hand, hand_request(client->hand, client->name));
}

/* ---- echoes */

static int echo_pairs[CLIENTS_MAX][2]; /* one end for the client, the other for the echo process */

static gpointer
connect_echo(G_GNUC_UNUSED const Load *load, guint index)
{
    return &echo_pairs[index][0];
}

static void
run_echo(const Load *load, gpointer data)
{
    for (guint i = 0; i < load->n_pairs; i++)
        bench_echo_twice(data);
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

static pid_t
start_echo(guint n_clients)
{
    pid_t child;

    if (n_clients > CLIENTS_MAX)
        bench_die("clients", "too many");
    for (guint i = 0; i < n_clients; i++)
        bench_make_pair(echo_pairs[i]);
    child = bench_fork();
    if (child == 0)
        echo(n_clients);
    return child;
}

/* ---- bus names */

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
    static const struct {
        const char *name;
        LoadConnect connect_client;
        LoadRun run_client;
    } ways[] = {
        {"async", load_connect_locks, load_run_locks}, {"sync", connect_sync, run_sync},
        {"packets", connect_hand, run_hand},           {"echo", connect_echo, run_echo},
        {"names", connect_names, run_names},
    };
    guint n_clients;
    Load load;

    bench_check_usage(argc == 6, "ADDRESS WAY CLIENTS IN-FLIGHT COUNT");
    n_clients = bench_number(argv[3]);
    load.address = argv[1];
    load.in_flight = bench_number(argv[4]);
    load.n_pairs = MAX(1, bench_number(argv[5]) / n_clients);
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        pid_t child;

        if (!g_str_equal(ways[i].name, argv[2]))
            continue;
        child = ways[i].run_client == run_echo ? start_echo(n_clients) : 0;
        bench_print("rate",
                    load_measure(&load, n_clients, ways[i].connect_client, ways[i].run_client));
        if (child != 0)
            bench_kill(child);
        return EXIT_SUCCESS;
    }
    bench_die(argv[2], "not one of the ways");
}
