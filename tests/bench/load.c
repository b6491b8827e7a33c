/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "load.h"

#include <stdlib.h>
#include <unistd.h>

#define MAX_CLIENTS 256
#define NS_PER_SEC  1e9

/* ---- processes */

static pid_t
start_client(const Load *load, guint index, int fd, LoadConnect connect_client, LoadRun run_client)
{
    pid_t child = bench_fork();
    gpointer client;

    if (child != 0)
        return child;
    client = connect_client(load, index);
    bench_notify(fd);
    bench_wait_notified(fd);
    run_client(load, client);
    bench_notify(fd);
    _exit(EXIT_SUCCESS);
}

double
load_measure(const Load *load, guint n_clients, LoadConnect connect_client, LoadRun run_client)
{
    pid_t children[MAX_CLIENTS];
    int fds[MAX_CLIENTS];
    guint64 begin, end;

    if (n_clients > MAX_CLIENTS)
        bench_die("clients", "too many");
    for (guint i = 0; i < n_clients; i++) {
        int pair[2];

        bench_make_pair(pair);
        children[i] = start_client(load, i, pair[1], connect_client, run_client);
        close(pair[1]);
        fds[i] = pair[0];
    }
    for (guint i = 0; i < n_clients; i++)
        bench_wait_notified(fds[i]);
    begin = bench_now();
    for (guint i = 0; i < n_clients; i++)
        bench_notify(fds[i]);
    for (guint i = 0; i < n_clients; i++)
        bench_wait_notified(fds[i]);
    end = bench_now();
    for (guint i = 0; i < n_clients; i++) {
        bench_join(children[i]);
        close(fds[i]);
    }
    return (double)n_clients * load->n_pairs / ((double)(end - begin) / NS_PER_SEC);
}

/* ---- locks */

typedef struct {
    WebLocksManager *manager;
    guint index;
    guint n_to_begin;
    guint n_to_end;
} LockClient;

/* A pair that is repeated. */
typedef struct {
    LockClient *client;
    char name[32];
} LockPair;

gpointer
load_connect_locks(const Load *load, guint index)
{
    g_autoptr(WebLocksAgent) agent = bench_agent_new(load->address);
    LockClient *client = g_new0(LockClient, 1);

    client->manager = bench_manager_new(agent, "bench");
    client->index = index;
    bench_barrier(agent);
    return client;
}

static void begin_pair(LockPair *pair);

static void
on_released(GObject *source, GAsyncResult *result, gpointer data)
{
    LockPair *pair = data;

    bench_release_finish(source, result);
    pair->client->n_to_end--;
    begin_pair(pair);
}

static void
on_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksLock *lock = bench_request_finish(source, result);

    web_locks_lock_release_async(lock, NULL, on_released, data);
}

static void
begin_pair(LockPair *pair)
{
    LockClient *client = pair->client;

    if (client->n_to_begin == 0)
        return;
    if (client->n_to_begin != G_MAXUINT)
        client->n_to_begin--;
    web_locks_manager_request_async(client->manager, pair->name, NULL, NULL, on_requested, pair);
}

void
load_run_locks(const Load *load, gpointer data)
{
    g_autofree LockPair *pairs = g_new0(LockPair, load->in_flight);
    LockClient *client = data;

    client->n_to_begin = client->n_to_end = load->n_pairs;
    for (guint i = 0; i < load->in_flight; i++) {
        pairs[i].client = client;
        g_snprintf(pairs[i].name, sizeof pairs[i].name, "document %u.%u", client->index, i);
        begin_pair(&pairs[i]);
    }
    while (client->n_to_end > 0)
        g_main_context_iteration(NULL, TRUE);
}
