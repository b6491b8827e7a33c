/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock handed over by hand (hand.h): from the holder's release until the process that waits has
 * seen Granted.
 *
 *     bench-hand-handover ADDRESS PATH COUNT
 */

#include <stdio.h>
#include <stdlib.h>

#include "common/wire-names.h"
#include "hand.h"
#include "handover.h"

#define LOCK_NAME "printer"

typedef struct {
    Hand *hand;
    guint64 id;
    gboolean is_granted;
} Player;

static int
on_granted(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Player *player = userdata;
    uint64_t id;

    if (sd_bus_message_is_signal(message, WIRE_LOCKS_INTERFACE, "Granted") <= 0)
        return 0;
    bench_check(sd_bus_message_read(message, "t", &id), "Granted");
    player->is_granted = id == player->id;
    return 0;
}

static gpointer
begin(const char *address, const char *path, gboolean first)
{
    Player *player = g_new0(Player, 1);
    guint64 token = 0;

    player->hand = hand_new(address, path);
    bench_check(sd_bus_add_filter(player->hand->way, NULL, on_granted, player), "filter");
    if (first)
        player->id = hand_request(player->hand, LOCK_NAME, &token);
    if (first && token == 0)
        bench_die("Request", "it is not held");
    return player;
}

static void
queue(gpointer data)
{
    Player *player = data;
    guint64 token;

    player->is_granted = FALSE;
    player->id = hand_request(player->hand, LOCK_NAME, &token);
    if (token != 0)
        bench_die("Request", "it does not wait");
}

static void
acquire(gpointer data)
{
    Player *player = data;

    while (!player->is_granted) {
        int r = sd_bus_process(player->hand->way, NULL);

        bench_check(r, "process");
        if (r == 0)
            bench_check(sd_bus_wait(player->hand->way, UINT64_MAX), "wait");
    }
}

static void
let_go(gpointer data)
{
    Player *player = data;

    hand_release(player->hand, player->id);
}

int
main(int argc, char **argv)
{
    static const Handover handover = {begin, queue, acquire, let_go};

    if (argc != 4) {
        fprintf(stderr, "usage: bench-hand-handover ADDRESS bus|private COUNT\n");
        return 2;
    }
    handover_run(&handover, argv[1], argv[2], bench_number(argv[3]));
    return EXIT_SUCCESS;
}
