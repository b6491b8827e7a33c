/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock handed over without the library (hand.h): from the holder's RELEASE until the waiting
 * process has read GRANTED.
 *
 *     bench-hand-handover ADDRESS COUNT
 */

#include <stdio.h>
#include <stdlib.h>

#include "hand.h"
#include "handover.h"

#define LOCK_NAME "printer"

typedef struct {
    Hand *hand;
    guint64 key;
} Player;

static void
request(Player *player, gboolean expected)
{
    gboolean held;

    player->key = hand_request(player->hand, LOCK_NAME, &held);
    if (held != expected)
        bench_die("REQUEST", held ? "it does not wait" : "it is not held");
}

static gpointer
begin(const char *address, gboolean first)
{
    Player *player = g_new0(Player, 1);

    player->hand = hand_new(address);
    if (first)
        request(player, TRUE);
    return player;
}

static void
queue(gpointer data)
{
    request(data, FALSE);
}

static void
acquire(gpointer data)
{
    Player *player = data;

    hand_await_granted(player->hand, player->key);
}

static void
release_lock(gpointer data)
{
    Player *player = data;

    hand_release(player->hand, player->key);
}

int
main(int argc, char **argv)
{
    static const Handover handover = {begin, queue, acquire, release_lock};

    if (argc != 3) {
        fprintf(stderr, "usage: bench-hand-handover ADDRESS COUNT\n");
        return 2;
    }
    handover_run(&handover, argv[1], bench_number(argv[2]));
    return EXIT_SUCCESS;
}
