/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "load.h"

#include <stdlib.h>
#include <unistd.h>

#define MAX_CLIENTS 256
#define NS_PER_SEC  1e9

/* ---- processes */

void
load_add_sample(const Load *load, guint64 begin)
{
    if (load->samples != NULL)
        bench_samples_add(load->samples, begin, bench_now());
}

static void
run_pairs(const Load *load, const LoadWay *way, gpointer client)
{
    const guint batch = MAX(way->batch, 1);

    if (way->run != NULL) {
        way->run(load, client);
        return;
    }
    for (guint i = 0; i < load->n_pairs; i += batch) {
        const guint64 begin = bench_now();

        for (guint k = 0; k < batch; k++)
            way->pair(client);
        load_add_sample(load, begin);
        if (load->samples != NULL)
            load->samples->us[load->samples->length - 1] /= batch;
    }
}

static pid_t
start_client(const Load *load, const LoadWay *way, int fd)
{
    pid_t child = bench_fork();
    Load warm_up = *load;
    gpointer client;

    if (child != 0)
        return child;
    client = way->connect_client(load);
    warm_up.samples = NULL;
    warm_up.n_pairs = way->n_warm_up;
    if (warm_up.n_pairs > 0)
        run_pairs(&warm_up, way, client);
    bench_notify(fd);
    bench_wait_notified(fd);
    run_pairs(load, way, client);
    bench_notify(fd);
    _exit(EXIT_SUCCESS);
}

/* Lets the clients begin when all are connected. Returns the pairs per second of all together. */
static double
measure(Load *load, const LoadWay *way)
{
    pid_t children[MAX_CLIENTS];
    int fds[MAX_CLIENTS];
    guint64 begin, end;

    if (load->n_clients > MAX_CLIENTS)
        bench_die("clients", "too many");
    if (way->prepare != NULL)
        way->prepare(load);
    for (guint i = 0; i < load->n_clients; i++) {
        int pair[2];

        bench_make_pair(pair);
        load->index = i;
        children[i] = start_client(load, way, pair[1]);
        close(pair[1]);
        fds[i] = pair[0];
    }
    for (guint i = 0; i < load->n_clients; i++)
        bench_wait_notified(fds[i]);
    begin = bench_now();
    for (guint i = 0; i < load->n_clients; i++)
        bench_notify(fds[i]);
    for (guint i = 0; i < load->n_clients; i++)
        bench_wait_notified(fds[i]);
    end = bench_now();
    for (guint i = 0; i < load->n_clients; i++) {
        bench_join(children[i]);
        close(fds[i]);
    }
    return (double)load->n_clients * load->n_pairs / ((double)(end - begin) / NS_PER_SEC);
}

int
load_main(int argc, char **argv, const LoadWay *ways, guint n_ways)
{
    const LoadWay *way = NULL;
    Load load = {0};

    bench_check_usage(argc == 6 || argc == 7, "ADDRESS WAY CLIENTS IN-FLIGHT COUNT [BUCKET]");
    for (guint i = 0; i < n_ways; i++)
        if (g_str_equal(ways[i].name, argv[2]))
            way = &ways[i];
    if (way == NULL)
        bench_die(argv[2], "not one of the ways");
    load.address = argv[1];
    load.bucket = argc > 6 ? argv[6] : "bench";
    load.n_clients = bench_number(argv[3]);
    load.in_flight = bench_number(argv[4]);
    load.n_pairs = MAX(1, bench_number(argv[5]) / load.n_clients);
    if (load.n_clients == 1 && load.in_flight == 1)
        load.samples = bench_samples_new_shared(load.n_pairs);
    bench_print("rate", measure(&load, way));
    if (load.samples != NULL)
        bench_samples_print(load.samples, "");
    return EXIT_SUCCESS;
}

/* ---- asynchronous calls */

typedef struct {
    const Load *load;
    WebLocksManager *manager;
    gboolean by_unref;
    guint n_to_begin;
    guint n_to_end;
} AsyncClient;

/* A pair that is repeated. */
typedef struct {
    AsyncClient *client;
    guint64 begin;
    char name[32];
} AsyncPair;

gpointer
load_connect_async(const Load *load)
{
    g_autoptr(WebLocksAgent) agent = bench_agent_new(load->address);
    AsyncClient *client = g_new0(AsyncClient, 1);

    client->manager = bench_manager_new(agent, load->bucket);
    bench_barrier(agent);
    return client;
}

static void begin_pair(AsyncPair *pair);

static void
end_pair(AsyncPair *pair)
{
    load_add_sample(pair->client->load, pair->begin);
    pair->client->n_to_end--;
    begin_pair(pair);
}

static void
on_released(GObject *source, GAsyncResult *result, gpointer pair)
{
    bench_release_finish(source, result);
    end_pair(pair);
}

static void
on_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksLock *lock = bench_request_finish(source, result);
    AsyncPair *pair = data;

    if (pair->client->by_unref) {
        g_object_unref(lock);
        end_pair(pair);
    } else {
        web_locks_lock_release_async(lock, NULL, on_released, pair);
    }
}

static void
begin_pair(AsyncPair *pair)
{
    AsyncClient *client = pair->client;

    if (client->n_to_begin == 0)
        return;
    if (client->n_to_begin != G_MAXUINT)
        client->n_to_begin--;
    pair->begin = bench_now();
    web_locks_manager_request_async(client->manager, pair->name, NULL, NULL, on_requested, pair);
}

void
load_run_async(const Load *load, gpointer data)
{
    g_autofree AsyncPair *pairs = g_new0(AsyncPair, load->in_flight);
    AsyncClient *client = data;

    client->load = load;
    client->n_to_begin = client->n_to_end = load->n_pairs;
    for (guint i = 0; i < load->in_flight; i++) {
        pairs[i].client = client;
        g_snprintf(pairs[i].name, sizeof pairs[i].name, "document %u.%u", load->index, i);
        begin_pair(&pairs[i]);
    }
    while (client->n_to_end > 0)
        g_main_context_iteration(NULL, TRUE);
}

void
load_run_unref(const Load *load, gpointer client)
{
    ((AsyncClient *)client)->by_unref = TRUE;
    load_run_async(load, client);
}
