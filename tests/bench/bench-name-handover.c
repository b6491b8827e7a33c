/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus name handed over: from ReleaseName until the process that is queued for the name has read
 * NameAcquired. Clients on bare sockets (raw-bus.h).
 *
 *     bench-name-handover ADDRESS COUNT
 */

#include <stdlib.h>

#include "handover.h"
#include "raw-bus.h"

#define BENCH_NAME "org.w3.WebLocks.Bench"

typedef struct {
    RawBus *bus;
    RawCall *request;
    RawCall *release;
} Player;

static void
call(Player *player, const RawCall *what, guint32 expected)
{
    raw_bus_send(player->bus, what);
    if (raw_bus_await_reply(player->bus) != expected)
        bench_die("bus name", "an answer that was not expected");
}

static gpointer
begin(const char *address, gboolean first)
{
    Player *player = g_new0(Player, 1);

    player->bus = raw_bus_new(address);
    player->request = raw_call_new_request_name(BENCH_NAME);
    player->release = raw_call_new_release_name(BENCH_NAME);
    if (first)
        call(player, player->request, RAW_NAME_OWNER);
    return player;
}

static void
queue(gpointer data)
{
    Player *player = data;

    call(player, player->request, RAW_NAME_IN_QUEUE);
}

static void
acquire(gpointer data)
{
    Player *player = data;

    raw_bus_await_name(player->bus, BENCH_NAME);
}

static void
release_lock(gpointer data)
{
    Player *player = data;

    call(player, player->release, RAW_NAME_OWNER);
}

int
main(int argc, char **argv)
{
    static const Handover handover = {
        .begin = begin, .queue = queue, .acquire = acquire, .release = release_lock};

    bench_check_usage(argc == 3, "ADDRESS COUNT");
    handover_run(&handover, argv[1], bench_number(argv[2]));
    return EXIT_SUCCESS;
}
