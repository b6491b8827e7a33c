/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An uncontended lock requested and released, one pair after the other.
 *
 *     bench-pair ADDRESS WAY COUNT
 *
 * WAY is
 *   sync     synchronous calls of the library;
 *   cold     the same, with the processor's caches filled with other data before each call;
 *   async    asynchronous calls in a main loop, each awaited before the next;
 *   unref    asynchronous, and the lock is released by dropping the last reference, which doesn't
 *            wait for a reply;
 *   packets  packets on a lock socket, without the library (hand.h), every answer awaited;
 *   name     a bus name, as programs do that use one as a lock, by calls marshalled once, on a bare
 *            socket (raw-bus.h). */

#include <stdlib.h>

#include "hand.h"
#include "raw-bus.h"

#define LOCK_NAME  "printer"
#define BENCH_NAME "org.w3.WebLocks.Bench"
#define WARM_UP    200

typedef struct {
    WebLocksManager *manager;
    Hand *hand;
    RawBus *bus;
    RawCall *request_name, *release_name;
    BenchSamples *samples; /* NULL while warming up */
    guint n_left;
    guint64 begin;
    gboolean by_unref;
} Pairs;

typedef struct {
    const char *name;
    void (*connect)(Pairs *pairs, const char *address);
    void (*run)(Pairs *pairs); /* all that are left */
} Way;

static void
add_sample(const Pairs *pairs)
{
    if (pairs->samples != NULL)
        bench_samples_add(pairs->samples, pairs->begin, bench_now());
}

/* ---- the library */

static void
connect_library(Pairs *pairs, const char *address)
{
    pairs->manager = bench_manager_new(bench_agent_new(address), "bench");
}

static void
run_calls(Pairs *pairs, gboolean is_cold)
{
    for (; pairs->n_left > 0; pairs->n_left--) {
        g_autoptr(WebLocksLock) lock = NULL;

        if (is_cold)
            bench_fill_caches();
        pairs->begin = bench_now();
        lock = bench_request(pairs->manager, LOCK_NAME);
        if (is_cold)
            bench_fill_caches();
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

/* ---- bare sockets */

static void
connect_hand(Pairs *pairs, const char *address)
{
    pairs->hand = hand_new(address);
}

static void
run_packets(Pairs *pairs)
{
    for (; pairs->n_left > 0; pairs->n_left--) {
        pairs->begin = bench_now();
        hand_release(pairs->hand, hand_request(pairs->hand, LOCK_NAME));
        add_sample(pairs);
    }
}

static void
connect_bus(Pairs *pairs, const char *address)
{
    pairs->bus = raw_bus_new(address);
    pairs->request_name = raw_call_new_request_name(BENCH_NAME);
    pairs->release_name = raw_call_new_release_name(BENCH_NAME);
}

static void
call(const Pairs *pairs, const RawCall *what)
{
    raw_bus_send(pairs->bus, what);
    if (raw_bus_await_reply(pairs->bus) != RAW_NAME_OWNER)
        bench_die("bus name", "an answer that was not expected");
}

static void
run_names(Pairs *pairs)
{
    for (; pairs->n_left > 0; pairs->n_left--) {
        pairs->begin = bench_now();
        call(pairs, pairs->request_name);
        call(pairs, pairs->release_name);
        add_sample(pairs);
    }
}

int
main(int argc, char **argv)
{
    static const Way ways[] = {
        {"sync", connect_library, run_sync},    {"cold", connect_library, run_cold},
        {"async", connect_library, run_async},  {"unref", connect_library, run_unref},
        {"packets", connect_hand, run_packets}, {"name", connect_bus, run_names},
    };
    Pairs pairs = {.n_left = WARM_UP};

    bench_check_usage(argc == 4, "ADDRESS WAY COUNT");
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (!g_str_equal(ways[i].name, argv[2]))
            continue;
        ways[i].connect(&pairs, argv[1]);
        ways[i].run(&pairs);
        pairs.n_left = bench_number(argv[3]);
        pairs.samples = bench_samples_new_shared(pairs.n_left);
        ways[i].run(&pairs);
        bench_samples_print(pairs.samples, "");
        return EXIT_SUCCESS;
    }
    bench_die(argv[2], "not one of the ways");
}
