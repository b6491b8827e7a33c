/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the library adds to the calls it makes: a lock requested and released through it, next to
 * the same two calls said to sd-bus by hand. One program, one bus, in turns.
 *
 *     bench-library ADDRESS
 *
 * By hand is by sd_bus_call() for the sync API, and by callbacks in a GLib main loop, as a desktop
 * process has it, for the async one. Every call is awaited before the next.
 *
 * Prints `NAME MEDIAN LOW HIGH` lines: microseconds per pair of calls, and ratios `WAY/OF`. A ratio
 * is taken in each round, of what ran next to each other; low and high are the quartiles over the
 * rounds. */

#include <stdio.h>
#include <stdlib.h>

#include <weblocks/weblocks.h>

#include "common/sd-bus-source.h"
#include "common/sd-bus.h"
#include "common/wire-names.h"

#define ROUNDS       41
#define PAIRS        500
#define LOCK_NAME    "printer"
#define BUCKET       "bench"
#define BENCH_BUCKET WIRE_BUCKET_PREFIX "/" BUCKET

typedef struct {
    sd_bus *bus;
    sd_bus *bus_in_loop; /* another connection, dispatched by the main loop */
    WebLocksManager *manager;
    guint n_left;
} Bench;

static void
check(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "bench-library: %s: %s\n", what, g_strerror(-r));
    exit(EXIT_FAILURE);
}

static void
check_error(const GError *error, const char *what)
{
    if (error == NULL)
        return;
    fprintf(stderr, "bench-library: %s: %s\n", what, error->message);
    exit(EXIT_FAILURE);
}

/* ---- by hand */

static void
raw_pair(Bench *bench)
{
    g_autoptr(SdBusMessage) reply = NULL;
    guint64 id;

    check(sd_bus_call_method(bench->bus, WIRE_BUS_NAME, BENCH_BUCKET, WIRE_LOCKS_INTERFACE,
                             "Request", NULL, &reply, "sa{sv}", LOCK_NAME, 0),
          "Request");
    check(sd_bus_message_read(reply, "tt", &id, NULL), "Request");
    check(sd_bus_call_method(bench->bus, WIRE_BUS_NAME, BENCH_BUCKET, WIRE_LOCKS_INTERFACE,
                             "Release", NULL, NULL, "t", id),
          "Release");
}

static void
raw_pairs(Bench *bench)
{
    for (guint i = 0; i < PAIRS; i++)
        raw_pair(bench);
}

/* ---- by hand, in a main loop */

static void loop_begin(Bench *bench);

static int
on_loop_released(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Bench *bench = userdata;

    check(-sd_bus_message_get_errno(reply), "Release");
    bench->n_left--;
    if (bench->n_left > 0)
        loop_begin(bench);
    return 1;
}

static int
on_loop_requested(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Bench *bench = userdata;
    guint64 id;

    check(sd_bus_message_read(reply, "tt", &id, NULL), "Request");
    check(sd_bus_call_method_async(bench->bus_in_loop, NULL, WIRE_BUS_NAME, BENCH_BUCKET,
                                   WIRE_LOCKS_INTERFACE, "Release", on_loop_released, bench, "t",
                                   id),
          "Release");
    return 1;
}

static void
loop_begin(Bench *bench)
{
    check(sd_bus_call_method_async(bench->bus_in_loop, NULL, WIRE_BUS_NAME, BENCH_BUCKET,
                                   WIRE_LOCKS_INTERFACE, "Request", on_loop_requested, bench,
                                   "sa{sv}", LOCK_NAME, 0),
          "Request");
}

static void
loop_pairs(Bench *bench)
{
    bench->n_left = PAIRS;
    loop_begin(bench);
    while (bench->n_left > 0)
        g_main_context_iteration(NULL, TRUE);
}

/* ---- by the library */

static void
library_pairs(Bench *bench)
{
    for (guint i = 0; i < PAIRS; i++) {
        g_autoptr(GError) error = NULL;
        g_autoptr(WebLocksLock) lock =
            web_locks_manager_request_sync(bench->manager, LOCK_NAME, NULL, NULL, &error);

        check_error(error, "request");
        web_locks_lock_release_sync(lock, NULL, &error);
        check_error(error, "release");
    }
}

static void library_begin(Bench *bench);

static void
on_library_released(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(WebLocksLock) lock = WEB_LOCKS_LOCK(source);
    g_autoptr(GError) error = NULL;
    Bench *bench = data;

    web_locks_lock_release_finish(lock, result, &error);
    check_error(error, "release");
    bench->n_left--;
    if (bench->n_left > 0)
        library_begin(bench);
}

static void
on_library_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;
    WebLocksLock *lock =
        web_locks_manager_request_finish(WEB_LOCKS_MANAGER(source), result, &error);

    check_error(error, "request");
    web_locks_lock_release_async(lock, NULL, on_library_released, data);
}

static void
library_begin(Bench *bench)
{
    web_locks_manager_request_async(bench->manager, LOCK_NAME, NULL, NULL, on_library_requested,
                                    bench);
}

static void
library_async_pairs(Bench *bench)
{
    bench->n_left = PAIRS;
    library_begin(bench);
    while (bench->n_left > 0)
        g_main_context_iteration(NULL, TRUE);
}

/* ---- the rounds */

enum {
    RAW,
    LIBRARY,
    RAW_IN_LOOP,
    LIBRARY_ASYNC,
    N_WAYS,
};

static const struct {
    const char *name;
    void (*run)(Bench *bench);
} ways[N_WAYS] = {
    [RAW] = {"raw-sync", raw_pairs},
    [LIBRARY] = {"library-sync", library_pairs},
    [RAW_IN_LOOP] = {"raw-in-loop", loop_pairs},
    [LIBRARY_ASYNC] = {"library-async", library_async_pairs},
};

static const struct {
    const char *name;
    guint way;
    guint of;
} ratios[] = {
    {"library-sync/raw-sync", LIBRARY, RAW},
    {"library-async/raw-in-loop", LIBRARY_ASYNC, RAW_IN_LOOP},
    {"raw-in-loop/raw-sync", RAW_IN_LOOP, RAW},
};

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
report(const char *name, double *samples)
{
    qsort(samples, ROUNDS, sizeof *samples, compare_doubles);
    printf("%s %.3f %.3f %.3f\n", name, samples[ROUNDS / 2], samples[ROUNDS / 4],
           samples[ROUNDS - 1 - ROUNDS / 4]);
}

static sd_bus *
connect_by_hand(const char *address)
{
    sd_bus *bus = NULL;

    check(sd_bus_new(&bus), "bus");
    check(sd_bus_set_address(bus, address), "address");
    check(sd_bus_set_bus_client(bus, TRUE), "bus client");
    check(sd_bus_start(bus), "start");
    return bus;
}

static WebLocksManager *
connect_by_library(const char *address)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new_for_address_sync(address, NULL, &error);
    WebLocksManager *manager;

    check_error(error, "agent");
    manager = web_locks_agent_get_manager(agent, BUCKET, &error);
    check_error(error, "manager");
    return manager;
}

static void
report_all(double samples[N_WAYS][ROUNDS])
{
    for (guint i = 0; i < G_N_ELEMENTS(ratios); i++) {
        double ratio[ROUNDS];

        for (guint round = 0; round < ROUNDS; round++)
            ratio[round] = samples[ratios[i].way][round] / samples[ratios[i].of][round];
        report(ratios[i].name, ratio);
    }
    for (guint i = 0; i < N_WAYS; i++)
        report(ways[i].name, samples[i]);
}

int
main(int argc, char **argv)
{
    static const SdBusSourceHooks no_hooks = {NULL};
    double samples[N_WAYS][ROUNDS];
    g_autoptr(GSource) source = NULL;
    Bench bench = {0};

    if (argc != 2) {
        fprintf(stderr, "usage: bench-library ADDRESS\n");
        return 2;
    }
    bench.manager = connect_by_library(argv[1]);
    bench.bus = connect_by_hand(argv[1]);
    bench.bus_in_loop = connect_by_hand(argv[1]);
    source = sd_bus_source_attach(bench.bus_in_loop, NULL, &no_hooks, NULL, NULL);

    for (guint i = 0; i < N_WAYS; i++)
        ways[i].run(&bench); /* to warm up */
    /* In turns, so that what the machine does meanwhile falls on all alike; and each begins once in
     * a while, so that none always comes after the same. */
    for (guint round = 0; round < ROUNDS; round++) {
        for (guint i = 0; i < N_WAYS; i++) {
            guint way = (round + i) % N_WAYS;
            gint64 start = g_get_monotonic_time();

            ways[way].run(&bench);
            samples[way][round] = (double)(g_get_monotonic_time() - start) / PAIRS;
        }
    }
    report_all(samples);

    g_source_destroy(source);
    g_object_unref(bench.manager);
    sd_bus_flush_close_unref(bench.bus);
    sd_bus_flush_close_unref(bench.bus_in_loop);
    return EXIT_SUCCESS;
}
