/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Requests and releases a new name each time, as fast as the bus transmits the calls.
 *
 *     many-names ADDRESS COUNT
 *
 * Keeps a window of requests in flight; each lock is released when its reply arrives, without
 * waiting for the reply to Release. Exits with status 0 when the service has processed everything.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/bus-names.h"
#include "common/sd-bus.h"

#define WINDOW 256
#define BUCKET BUS_BUCKET_PREFIX "/many"

typedef struct {
    sd_bus *bus;
    guint64 n_sent;
    guint64 n_answered;
} Run;

static void
check(int r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "many-names: %s: %s\n", what, g_strerror(-r));
    exit(EXIT_FAILURE);
}

static void
release(sd_bus *bus, guint64 id)
{
    g_autoptr(SdBusMessage) call = NULL;

    check(sd_bus_message_new_method_call(bus, &call, BUS_SERVICE_NAME, BUCKET, BUS_LOCKS_INTERFACE,
                                         "Release"),
          "Release");
    check(sd_bus_message_append(call, "t", id), "Release");
    check(sd_bus_message_set_expect_reply(call, FALSE), "Release");
    check(sd_bus_send(bus, call, NULL), "Release");
}

static int
on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Run *run = userdata;
    guint64 id, token;

    check(-sd_bus_message_get_errno(reply), "Request");
    check(sd_bus_message_read(reply, "tt", &id, &token), "Request");
    if (token == 0)
        check(-EBUSY, "a lock that no other client requested");
    release(run->bus, id);
    run->n_answered++;
    return 1;
}

static void
request(Run *run)
{
    g_autofree char *name = g_strdup_printf("name %" G_GUINT64_FORMAT, run->n_sent++);

    check(sd_bus_call_method_async(run->bus, NULL, BUS_SERVICE_NAME, BUCKET, BUS_LOCKS_INTERFACE,
                                   "Request", on_reply, run, "sa{sv}", name, 0),
          "Request");
}

int
main(int argc, char **argv)
{
    Run run = {0};
    guint64 count;

    if (argc != 3 || !g_ascii_string_to_unsigned(argv[2], 10, 1, G_MAXUINT32, &count, NULL)) {
        fprintf(stderr, "usage: many-names ADDRESS COUNT\n");
        return 2;
    }
    check(sd_bus_new(&run.bus), "bus");
    check(sd_bus_set_address(run.bus, argv[1]), "address");
    check(sd_bus_set_bus_client(run.bus, TRUE), "bus client");
    check(sd_bus_start(run.bus), "start");

    while (run.n_answered < count) {
        int r;

        while (run.n_sent < count && run.n_sent - run.n_answered < WINDOW)
            request(&run);
        check(r = sd_bus_process(run.bus, NULL), "process");
        if (r == 0)
            check(sd_bus_wait(run.bus, UINT64_MAX), "wait");
    }
    /* The last releases have no reply; a call after them has one. */
    check(sd_bus_call_method(run.bus, BUS_SERVICE_NAME, BUCKET, BUS_LOCKS_INTERFACE, "Query", NULL,
                             NULL, NULL),
          "Query");
    sd_bus_flush_close_unref(run.bus);
    return EXIT_SUCCESS;
}
