/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An uncontended lock requested and released without the library, every call awaited.
 *
 *     bench-hand-pair ADDRESS WAY COUNT
 *
 * WAY is
 *   packets  on a lock socket (hand.h);
 *   sd-bus   synchronous calls of sd-bus through the bus, as of a client without a lock socket. */

#include "common/bus-names.h"
#include "common/sd-bus.h"
#include "hand.h"

#define WARM_UP   200
#define LOCK_NAME "printer"
#define PATH      BUS_BUCKET_PREFIX "/bench"

static void
run_packets(const char *address, guint count, BenchSamples *samples)
{
    Hand *hand = hand_new(address);
    gboolean held;

    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        hand_release(hand, hand_request(hand, LOCK_NAME, &held));
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    hand_free(hand);
}

static void
request_and_release(sd_bus *bus)
{
    g_autoptr(SdBusMessage) reply = NULL;
    uint64_t id, token;

    bench_check(sd_bus_call_method(bus, BUS_SERVICE_NAME, PATH, BUS_LOCKS_INTERFACE, "Request",
                                   NULL, &reply, "sa{sv}", LOCK_NAME, 0),
                "Request");
    bench_check(sd_bus_message_read(reply, "tt", &id, &token), "Request");
    bench_check(sd_bus_call_method(bus, BUS_SERVICE_NAME, PATH, BUS_LOCKS_INTERFACE, "Release",
                                   NULL, NULL, "t", id),
                "Release");
}

static void
run_sd_bus(const char *address, guint count, BenchSamples *samples)
{
    sd_bus *bus = NULL;

    bench_check(sd_bus_new(&bus), "sd_bus_new");
    bench_check(sd_bus_set_address(bus, address), address);
    bench_check(sd_bus_set_bus_client(bus, TRUE), address);
    bench_check(sd_bus_start(bus), address);
    for (guint i = 0; i < WARM_UP + count; i++) {
        guint64 begin = bench_now();

        request_and_release(bus);
        /* The service sends a Ping now and then. */
        while (i % 16 == 0 && sd_bus_process(bus, NULL) > 0)
            ;
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
    sd_bus_flush_close_unref(bus);
}

int
main(int argc, char **argv)
{
    static const BenchWay ways[2] = {{"packets", run_packets}, {"sd-bus", run_sd_bus}};

    return bench_main_of_two(argc, argv, ways);
}
