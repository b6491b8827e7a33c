/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus name requested and released, every call awaited, as programs do that use a name as a lock.
 *
 *     bench-name-pair ADDRESS WAY COUNT
 *
 * WAY is
 *   raw     calls marshalled once, on a bare socket (raw-bus.h);
 *   sd-bus  synchronous calls of sd-bus. */

#include "bench.h"
#include "common/bus-names.h"
#include "common/sd-bus.h"
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
run_raw(const char *address, guint count, BenchSamples *samples)
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

static void
call_driver(sd_bus *bus, const char *member, const char *signature)
{
    g_autoptr(SdBusMessage) call = NULL, reply = NULL;
    guint32 answer;

    bench_check(sd_bus_message_new_method_call(bus, &call, BUS_DRIVER_NAME, BUS_DRIVER_PATH,
                                               BUS_DRIVER_INTERFACE, member),
                member);
    bench_check(sd_bus_message_set_auto_start(call, FALSE), member);
    bench_check(sd_bus_message_append(call, signature, BENCH_NAME, 0), member);
    bench_check(sd_bus_call(bus, call, 0, NULL, &reply), member);
    bench_check(sd_bus_message_read(reply, "u", &answer), member);
    expect(answer);
}

static void
run_sd_bus(const char *address, guint count, BenchSamples *samples)
{
    sd_bus *bus = NULL;

    bench_check(sd_bus_new(&bus), "bus");
    bench_check(sd_bus_set_address(bus, address), "address");
    bench_check(sd_bus_set_bus_client(bus, TRUE), "bus client");
    bench_check(sd_bus_start(bus), "connecting");
    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        call_driver(bus, "RequestName", "su");
        call_driver(bus, "ReleaseName", "s");
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    sd_bus_flush_close_unref(bus);
}

int
main(int argc, char **argv)
{
    static const BenchWay ways[2] = {{"raw", run_raw}, {"sd-bus", run_sd_bus}};

    return bench_main_of_two(argc, argv, ways);
}
