/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus name requested and released, every call awaited, as programs do that use a name as a lock,
 * by calls marshalled once, on a bare socket (raw-bus.h).
 *
 *     bench-name-pair ADDRESS COUNT
 */

#include "bench.h"
#include "raw-bus.h"

#define BENCH_NAME "org.w3.WebLocks.Bench"
#define WARM_UP    200

static void
expect(guint32 answer)
{
    if (answer != RAW_NAME_OWNER)
        bench_die("bus name", "an answer that was not expected");
}

static void
run(const char *address, guint count, BenchSamples *samples)
{
    g_autoptr(RawBus) bus = raw_bus_new(address);
    g_autoptr(RawCall) request = raw_call_new_request_name(BENCH_NAME);
    g_autoptr(RawCall) release = raw_call_new_release_name(BENCH_NAME);

    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        raw_bus_send(bus, request);
        expect(raw_bus_await_reply(bus));
        raw_bus_send(bus, release);
        expect(raw_bus_await_reply(bus));
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
}

int
main(int argc, char **argv)
{
    return bench_main(argc, argv, run);
}
