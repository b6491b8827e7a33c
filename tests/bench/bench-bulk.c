/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The cost of operations while there are very many locks or requests.
 *
 *     bench-bulk ADDRESS SERVICE-PID STATE N
 *
 * STATE is
 *   held     one client holds N locks with different names;
 *   waiting  one client has N requests that wait for one name.
 * Prints `ready N`, and then executes the commands on standard input, one per line, until EOF:
 *   grants COUNT  (waiting) hand-overs of the name to the next request: `grant`, us each; then as
 *                 many requests are added again
 *   pairs COUNT   another client's uncontended request and release, awaited: `pair`
 *   own COUNT     the same by the client that has all the others
 *   queries COUNT another client's Query, awaited: `query`, and `query-cpu`, the service's
 * processor time for each. */

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BULK_NAME "contended"
/* The maximum number of requests without an answer. */
#define AT_A_TIME 500

typedef struct {
    pid_t service;
    WebLocksManager *bulk;  /* holds or waits */
    WebLocksManager *other; /* an agent of its own */
    WebLocksLock *contended;
    guint n_grants_left;
    guint64 granted_at;
    BenchSamples *samples;
} Bench;

/* ---- very many locks or requests of one client */

static void
on_held(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksLock *lock = bench_request_finish(source, result);
    GPtrArray *locks = data;

    g_ptr_array_add(locks, lock);
}

/* Requests `n` locks, "document 0" and so on, and returns when they are held, until the process
 * exits. */
static void
bulk_hold(WebLocksManager *manager, guint n)
{
    static GPtrArray *locks;

    locks = g_ptr_array_new();
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("document %u", i);

        web_locks_manager_request_async(manager, name, NULL, NULL, on_held, locks);
        while (i + 1 - locks->len >= AT_A_TIME)
            g_main_context_iteration(NULL, TRUE);
    }
    while (locks->len < n)
        g_main_context_iteration(NULL, TRUE);
}

/* Requests the contended lock `n` times, which is held, and returns when all requests wait.
 * `on_granted` is the callback of each request. */
static void
bulk_wait(WebLocksManager *manager, guint n, GAsyncReadyCallback on_granted, gpointer data)
{
    for (guint i = 1; i <= n; i++) {
        web_locks_manager_request_async(manager, BULK_NAME, NULL, NULL, on_granted, data);
        if (i % AT_A_TIME == 0 || i == n)
            bench_barrier(web_locks_manager_get_agent(manager));
    }
}

/* ---- grants: each holder releases the name to the next request */

static void
on_released(GObject *source, GAsyncResult *result, gpointer data)
{
    bench_release_finish(source, result);
}

static void
on_granted(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksLock *lock = bench_request_finish(source, result);
    Bench *bench = data;

    bench_samples_add(bench->samples, bench->granted_at, bench_now());
    bench->granted_at = bench_now();
    bench->n_grants_left--;
    if (bench->n_grants_left > 0)
        web_locks_lock_release_async(lock, NULL, on_released, NULL);
    else
        bench->contended = lock;
}

static void
measure_grants(Bench *bench, guint count)
{
    bench->samples = bench_samples_new_shared(count);
    bench->n_grants_left = count;
    bench->granted_at = bench_now();
    web_locks_lock_release_async(g_steal_pointer(&bench->contended), NULL, on_released, NULL);
    while (bench->n_grants_left > 0)
        g_main_context_iteration(NULL, TRUE);
    bench_print("grant", bench_samples_steady(bench->samples));
    bench_samples_free(bench->samples);
    bulk_wait(bench->bulk, count, on_granted, bench);
}

/* ---- the other client */

static void
measure_pairs(WebLocksManager *manager, guint count)
{
    BenchSamples *samples = bench_samples_new_shared(count);

    for (guint i = 0; i < count; i++) {
        guint64 begin = bench_now();
        g_autoptr(WebLocksLock) lock = bench_request(manager, "printer");

        bench_release(lock);
        bench_samples_add(samples, begin, bench_now());
    }
    bench_print("pair", bench_samples_steady(samples));
    bench_samples_free(samples);
}

static void
measure_queries(Bench *bench, guint count)
{
    double cpu = bench_cpu_time(bench->service);
    guint64 begin = bench_now();

    for (guint i = 0; i < count; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(WebLocksSnapshot) snapshot =
            web_locks_manager_query_sync(bench->other, NULL, &error);

        if (snapshot == NULL)
            bench_die("query", error->message);
    }
    bench_print("query", (double)(bench_now() - begin) / 1000 / count);
    bench_print("query-cpu", (bench_cpu_time(bench->service) - cpu) / count);
}

static void
obey(Bench *bench, const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", 2);
    guint count;

    if (g_strv_length(words) != 2)
        bench_die(line, "not a command and a number");
    count = bench_number(words[1]);
    if (g_str_equal(words[0], "grants") && bench->contended != NULL)
        measure_grants(bench, count);
    else if (g_str_equal(words[0], "pairs"))
        measure_pairs(bench->other, count);
    else if (g_str_equal(words[0], "own"))
        measure_pairs(bench->bulk, count);
    else if (g_str_equal(words[0], "queries"))
        measure_queries(bench, count);
    else
        bench_die(line, "no such command");
}

/* Each agent is owned by its manager. */
static WebLocksManager *
connect_manager(const char *address)
{
    g_autoptr(WebLocksAgent) agent = bench_agent_new(address);

    return bench_manager_new(agent, "bulk");
}

int
main(int argc, char **argv)
{
    Bench bench = {0};
    char line[256];
    guint n;

    bench_check_usage(argc == 5, "ADDRESS SERVICE-PID held|waiting N");
    bench.service = (pid_t)bench_number(argv[2]);
    bench.bulk = connect_manager(argv[1]);
    bench.other = connect_manager(argv[1]);
    n = bench_number(argv[4]);
    if (g_str_equal(argv[3], "held")) {
        bulk_hold(bench.bulk, n);
    } else if (g_str_equal(argv[3], "waiting")) {
        bench.contended = bench_request(bench.bulk, BULK_NAME);
        bulk_wait(bench.bulk, n, on_granted, &bench);
    } else {
        bench_die(argv[3], "neither held nor waiting");
    }
    bench_print("ready", n);
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        obey(&bench, line);
    }
    return EXIT_SUCCESS;
}
