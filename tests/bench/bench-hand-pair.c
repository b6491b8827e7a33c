/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An uncontended lock requested and released by hand: sync calls of sd-bus, every one awaited. What
 * the library is compared with.
 *
 *     bench-hand-pair ADDRESS PATH COUNT
 *
 * PATH is `bus`, or `private`: a private socket, opened by hand too. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "common/sd-bus.h"
#include "common/wire-names.h"

#define WARM_UP      200
#define LOCK_NAME    "printer"
#define BENCH_BUCKET WIRE_BUCKET_PREFIX "/bench"

static sd_bus *
open_bus(const char *address)
{
    sd_bus *bus = NULL;

    bench_check(sd_bus_new(&bus), "sd_bus_new");
    bench_check(sd_bus_set_address(bus, address), address);
    bench_check(sd_bus_set_bus_client(bus, TRUE), address);
    bench_check(sd_bus_start(bus), address);
    return bus;
}

static sd_bus *
open_private_socket(sd_bus *bus)
{
    g_autoptr(SdBusMessage) reply = NULL;
    sd_bus *socket = NULL;
    int fd;

    bench_check(sd_bus_call_method(bus, WIRE_BUS_NAME, WIRE_SERVICE_PATH, WIRE_SERVICE_INTERFACE,
                                   "OpenPeer", NULL, &reply, ""),
                "OpenPeer");
    bench_check(sd_bus_message_read(reply, "h", &fd), "OpenPeer");
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    bench_check_errno(fd >= 0, "OpenPeer");
    bench_check(sd_bus_new(&socket), "sd_bus_new");
    bench_check(sd_bus_set_fd(socket, fd, fd), "private socket");
    bench_check(sd_bus_start(socket), "private socket");
    return socket;
}

static void
run(sd_bus *bus, guint count, BenchSamples *samples)
{
    for (guint i = 0; i < WARM_UP + count; i++) {
        g_autoptr(SdBusMessage) reply = NULL;
        guint64 begin = bench_now();
        guint64 id;

        bench_check(sd_bus_call_method(bus, WIRE_BUS_NAME, BENCH_BUCKET, WIRE_LOCKS_INTERFACE,
                                       "Request", NULL, &reply, "sa{sv}", LOCK_NAME, 1,
                                       WIRE_OPTION_KEY, "t", (guint64)i + 1),
                    "Request");
        bench_check(sd_bus_message_read(reply, "tt", &id, NULL), "Request");
        bench_check(sd_bus_call_method(bus, WIRE_BUS_NAME, BENCH_BUCKET, WIRE_LOCKS_INTERFACE,
                                       "Release", NULL, NULL, "t", id),
                    "Release");
        if (i >= WARM_UP)
            bench_samples_add(samples, begin, bench_now());
    }
}

int
main(int argc, char **argv)
{
    BenchSamples *samples;
    sd_bus *bus, *socket = NULL;
    guint count;

    if (argc != 4) {
        fprintf(stderr, "usage: bench-hand-pair ADDRESS bus|private COUNT\n");
        return 2;
    }
    count = bench_number(argv[3]);
    samples = bench_samples_new_shared(count);
    bus = open_bus(argv[1]);
    if (g_str_equal(argv[2], BENCH_PATH_PRIVATE))
        socket = open_private_socket(bus);
    run(socket != NULL ? socket : bus, count, samples);
    bench_samples_print(samples, "");
    sd_bus_flush_close_unref(socket);
    sd_bus_flush_close_unref(bus);
    return EXIT_SUCCESS;
}
