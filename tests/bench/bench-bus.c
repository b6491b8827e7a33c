/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a lock costs through a bus, next to what a bus name costs: one client, in one run, in turns.
 *
 *     bench-bus ADDRESS
 *
 * Prints one `NAME MEDIAN MIN MAX` line per figure, microseconds per operation over the
 * repetitions; bench_bus.py starts the bus and makes the table. Every call is awaited, as a program
 * would that does one thing after the other. */

#include <stdio.h>
#include <stdlib.h>

#include "common/sd-bus.h"
#include "common/wire-names.h"

#define REPETITIONS       7
#define PAIRS             2000
#define HELD              10000
#define QUERIES           20
#define BENCH_NAME        "org.w3.WebLocks.Bench"
#define NAME_DO_NOT_QUEUE 4
#define BENCH_BUCKET      WIRE_BUCKET_PREFIX "/bench"
#define BENCH_FULL_BUCKET WIRE_BUCKET_PREFIX "/full"

typedef void (*Operation)(sd_bus *bus);

static void
check(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "bench-bus: %s: %s\n", what, g_strerror(-r));
    exit(EXIT_FAILURE);
}

static void
call_driver(sd_bus *bus, const char *member, const char *signature, guint32 flags)
{
    g_autoptr(SdBusMessage) call = NULL, reply = NULL;

    check(sd_bus_message_new_method_call(bus, &call, WIRE_DRIVER_NAME, WIRE_DRIVER_PATH,
                                         WIRE_DRIVER_INTERFACE, member),
          member);
    check(sd_bus_message_append(call, signature, BENCH_NAME, flags), member);
    check(sd_bus_call(bus, call, 0, NULL, &reply), member);
}

static void
name_pair(sd_bus *bus)
{
    call_driver(bus, "RequestName", "su", NAME_DO_NOT_QUEUE);
    call_driver(bus, "ReleaseName", "s", 0);
}

static guint64
request(sd_bus *bus, const char *bucket, const char *name)
{
    g_autoptr(SdBusMessage) reply = NULL;
    guint64 id;

    check(sd_bus_call_method(bus, WIRE_BUS_NAME, bucket, WIRE_LOCKS_INTERFACE, "Request", NULL,
                             &reply, "sa{sv}", name, 0),
          "Request");
    check(sd_bus_message_read(reply, "tt", &id, NULL), "Request");
    return id;
}

static void
lock_pair(sd_bus *bus)
{
    guint64 id = request(bus, BENCH_BUCKET, "printer");

    check(sd_bus_call_method(bus, WIRE_BUS_NAME, BENCH_BUCKET, WIRE_LOCKS_INTERFACE, "Release",
                             NULL, NULL, "t", id),
          "Release");
}

static void
ping_service(sd_bus *bus)
{
    check(sd_bus_call_method(bus, WIRE_BUS_NAME, WIRE_SERVICE_PATH, "org.freedesktop.DBus.Peer",
                             "Ping", NULL, NULL, NULL),
          "Ping");
}

static void
query(sd_bus *bus)
{
    check(sd_bus_call_method(bus, WIRE_BUS_NAME, BENCH_FULL_BUCKET, WIRE_LOCKS_INTERFACE, "Query",
                             NULL, NULL, NULL),
          "Query");
}

static double
time_operation(sd_bus *bus, Operation operation, guint count)
{
    gint64 start = g_get_monotonic_time();

    for (guint i = 0; i < count; i++)
        operation(bus);
    return (double)(g_get_monotonic_time() - start) / count;
}

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void
report(const char *name, double *samples)
{
    qsort(samples, REPETITIONS, sizeof *samples, compare_doubles);
    printf("%s %.2f %.2f %.2f\n", name, samples[REPETITIONS / 2], samples[0],
           samples[REPETITIONS - 1]);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        Operation operation;
        guint count;
    } rows[] = {
        {"lock-pair", lock_pair, PAIRS},
        {"name-pair", name_pair, PAIRS},
        {"ping", ping_service, PAIRS},
        {"query-10000", query, QUERIES},
    };
    double samples[G_N_ELEMENTS(rows)][REPETITIONS];
    sd_bus *bus = NULL;

    if (argc != 2) {
        fprintf(stderr, "usage: bench-bus ADDRESS\n");
        return 2;
    }
    check(sd_bus_new(&bus), "bus");
    check(sd_bus_set_address(bus, argv[1]), "address");
    check(sd_bus_set_bus_client(bus, TRUE), "bus client");
    check(sd_bus_start(bus), "start");

    for (guint i = 0; i < HELD; i++) {
        g_autofree char *name = g_strdup_printf("document %u", i);

        request(bus, BENCH_FULL_BUCKET, name);
    }
    /* In turns, so that what the machine does meanwhile falls on all alike. */
    for (guint repetition = 0; repetition < REPETITIONS; repetition++)
        for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
            samples[i][repetition] = time_operation(bus, rows[i].operation, rows[i].count);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
        report(rows[i].name, samples[i]);

    sd_bus_flush_close_unref(bus);
    return EXIT_SUCCESS;
}
