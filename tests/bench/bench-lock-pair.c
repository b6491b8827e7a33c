/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An uncontended lock requested and released through the library, one pair after the other.
 *
 *     bench-lock-pair ADDRESS WAY COUNT
 *
 * WAY is
 *   sync    synchronous calls;
 *   cold    the same, with the processor's caches filled with other data before each call;
 *   async   asynchronous calls in a main loop, each awaited before the next;
 *   unref   asynchronous, and the lock is released by dropping the last reference, which doesn't
 *           wait for a reply. */

#include "bench.h"

#include <stdlib.h>

#define LOCK_NAME "printer"
#define WARM_UP   200

#define CACHE_BYTES (16UL * 1024 * 1024)
#define CACHE_LINE  64

typedef struct {
    WebLocksManager *manager;
    BenchSamples *samples; /* NULL while warming up */
    guint n_left;
    guint64 begin;
    gboolean by_unref;
} Pairs;

typedef void (*Way)(Pairs *pairs);

static void
add_sample(Pairs *pairs)
{
    if (pairs->samples != NULL)
        bench_samples_add(pairs->samples, pairs->begin, bench_now());
}

static void
fill_caches(void)
{
    static guint8 memory[CACHE_BYTES];

    for (gsize i = 0; i < sizeof memory; i += CACHE_LINE)
        ((volatile guint8 *)memory)[i]++;
}

static void
run_calls(Pairs *pairs, gboolean is_cold)
{
    for (; pairs->n_left > 0; pairs->n_left--) {
        g_autoptr(WebLocksLock) lock = NULL;

        if (is_cold)
            fill_caches();
        pairs->begin = bench_now();
        lock = bench_request(pairs->manager, LOCK_NAME);
        if (is_cold)
            fill_caches();
        bench_release(lock);
        add_sample(pairs);
    }
}

static void
run_sync(Pairs *pairs)
{
    run_calls(pairs, FALSE);
}

static void
run_cold(Pairs *pairs)
{
    run_calls(pairs, TRUE);
}

static void begin_async(Pairs *pairs);

static void
end_async(Pairs *pairs)
{
    add_sample(pairs);
    pairs->n_left--;
    if (pairs->n_left > 0)
        begin_async(pairs);
}

static void
on_released(GObject *source, GAsyncResult *result, gpointer data)
{
    bench_release_finish(source, result);
    end_async(data);
}

static void
on_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    WebLocksLock *lock = bench_request_finish(source, result);
    Pairs *pairs = data;

    if (pairs->by_unref) {
        g_object_unref(lock);
        end_async(pairs);
    } else {
        web_locks_lock_release_async(lock, NULL, on_released, data);
    }
}

static void
begin_async(Pairs *pairs)
{
    pairs->begin = bench_now();
    web_locks_manager_request_async(pairs->manager, LOCK_NAME, NULL, NULL, on_requested, pairs);
}

static void
run_async(Pairs *pairs)
{
    begin_async(pairs);
    while (pairs->n_left > 0)
        g_main_context_iteration(NULL, TRUE);
}

static void
run_unref(Pairs *pairs)
{
    pairs->by_unref = TRUE;
    run_async(pairs);
}

static Way
find_way(const char *name)
{
    static const struct {
        const char *name;
        Way run;
    } ways[] = {{"sync", run_sync}, {"cold", run_cold}, {"async", run_async}, {"unref", run_unref}};

    for (guint i = 0; i < G_N_ELEMENTS(ways); i++)
        if (g_str_equal(ways[i].name, name))
            return ways[i].run;
    bench_die(name, "none of sync, cold, async, unref");
}

int
main(int argc, char **argv)
{
    g_autoptr(WebLocksAgent) agent = NULL;
    Pairs pairs = {.n_left = WARM_UP};
    Way run;

    bench_check_usage(argc == 4, "ADDRESS sync|cold|async|unref COUNT");
    run = find_way(argv[2]);
    agent = bench_agent_new(argv[1]);
    pairs.manager = bench_manager_new(agent, "bench");
    run(&pairs);

    pairs.n_left = bench_number(argv[3]);
    pairs.samples = bench_samples_new_shared(pairs.n_left);
    run(&pairs);
    bench_samples_print(pairs.samples, "");
    g_object_unref(pairs.manager);
    return EXIT_SUCCESS;
}
