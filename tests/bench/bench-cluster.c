/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock of several hosts, each with a bus, through the library.
 *
 *     bench-cluster pair COUNT BUCKET ADDRESS
 *     bench-cluster acquire COUNT BUCKET ADDRESS
 *     bench-cluster take COUNT BUCKET ADDRESS ADDRESS
 *     bench-cluster load COUNT BUCKET PROCESSES ADDRESS...
 *
 * `pair` requests and releases on one host. `acquire` does so on the two hosts in turns, so that
 * each request takes the lock from the other host, and measures the request. In `load`, PROCESSES
 * on each host take the same lock COUNT times each; it prints `per_lock`, the time from one to the
 * next. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "load.h"

#define LOCK_NAME "printer"
#define WARM_UP   20

/* A host returns a permit after a second without requests. */
#define RETURN_SECONDS 3

static WebLocksManager *
connect_to(const char *address, const char *bucket)
{
    return bench_manager_new(bench_agent_new(address), bucket);
}

static void
run_pairs(guint count, const char *bucket, const char *address)
{
    BenchSamples *samples = bench_samples_new_shared(count);
    WebLocksManager *manager = connect_to(address, bucket);

    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();
        WebLocksLock *lock = bench_request(manager, LOCK_NAME);

        bench_release(lock);
        g_object_unref(lock);
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    bench_samples_print(samples, "");
}

static WebLocksLock *
request_number(WebLocksManager *manager, guint number)
{
    g_autofree char *name = g_strdup_printf(LOCK_NAME "-%u", number);

    return bench_request(manager, name);
}

static void
run_acquire(guint count, const char *bucket, const char *address)
{
    BenchSamples *samples = bench_samples_new_shared(count);
    WebLocksManager *manager = connect_to(address, bucket);

    for (guint i = 0; i < count; i++) {
        g_autoptr(WebLocksLock) lock = request_number(manager, i);

        bench_release(lock);
    }
    sleep(RETURN_SECONDS);
    for (guint i = 0; i < count; i++) {
        guint64 begin = bench_now();
        g_autoptr(WebLocksLock) lock = request_number(manager, i);

        bench_samples_add(samples, begin, bench_now());
        bench_release(lock);
    }
    bench_samples_print(samples, "");
}

static void
run_take(guint count, const char *bucket, char **addresses)
{
    BenchSamples *samples = bench_samples_new_shared(count);
    WebLocksManager *managers[2] = {connect_to(addresses[0], bucket),
                                    connect_to(addresses[1], bucket)};

    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();
        WebLocksLock *lock = bench_request(managers[i % 2], LOCK_NAME);

        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
        bench_release(lock);
        g_object_unref(lock);
    }
    bench_samples_print(samples, "");
}

/* ---- many processes on each host */

static const char *load_bucket;
static char **load_addresses;
static guint n_load_addresses;

static gpointer
connect_load(G_GNUC_UNUSED const Load *load, guint index)
{
    return connect_to(load_addresses[index % n_load_addresses], load_bucket);
}

static void
take_locks(const Load *load, gpointer manager)
{
    for (guint i = 0; i < load->n_pairs; i++) {
        g_autoptr(WebLocksLock) lock = bench_request(manager, LOCK_NAME);

        bench_release(lock);
    }
}

static void
run_load(guint count, const char *bucket, guint n_each, char **addresses, guint n_addresses)
{
    const Load load = {.n_pairs = count};

    load_bucket = bucket;
    load_addresses = addresses;
    n_load_addresses = n_addresses;
    bench_print("per_lock",
                1e6 / load_measure(&load, n_each * n_addresses, connect_load, take_locks));
}

int
main(int argc, char **argv)
{
    const char *way = argc > 4 ? argv[1] : "";

    if (argc == 5 && g_str_equal(way, "pair")) {
        run_pairs(bench_number(argv[2]), argv[3], argv[4]);
    } else if (argc == 5 && g_str_equal(way, "acquire")) {
        run_acquire(bench_number(argv[2]), argv[3], argv[4]);
    } else if (argc == 6 && g_str_equal(way, "take")) {
        run_take(bench_number(argv[2]), argv[3], &argv[4]);
    } else if (argc > 5 && g_str_equal(way, "load")) {
        run_load(bench_number(argv[2]), argv[3], bench_number(argv[4]), &argv[5], (guint)argc - 5);
    } else {
        fprintf(stderr, "usage: bench-cluster pair COUNT BUCKET ADDRESS\n"
                        "       bench-cluster acquire COUNT BUCKET ADDRESS\n"
                        "       bench-cluster take COUNT BUCKET ADDRESS ADDRESS\n"
                        "       bench-cluster load COUNT BUCKET PROCESSES ADDRESS...\n");
        return 2;
    }
    return EXIT_SUCCESS;
}
