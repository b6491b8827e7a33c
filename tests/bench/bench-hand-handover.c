/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock handed over without the library: from RELEASE until the process that waits has read
 * GRANTED.
 *
 *     bench-hand-handover ADDRESS COUNT
 */

#include <stdlib.h>

#include "hand.h"
#include "handover.h"

#define LOCK_NAME "printer"

typedef struct {
    Hand *hand;
    guint64 key;
} Player;

static gpointer
begin(const char *address, gboolean first)
{
    Player *player = g_new0(Player, 1);

    player->hand = hand_new(address);
    if (first)
        player->key = hand_request(player->hand, LOCK_NAME);
    return player;
}

static void
queue(gpointer data)
{
    Player *player = data;

    player->key = hand_queue(player->hand, LOCK_NAME);
}

static void
acquire(gpointer data)
{
    hand_await_grant(((Player *)data)->hand);
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
    static const Handover handover = {
        .begin = begin, .queue = queue, .acquire = acquire, .release = release_lock};

    bench_check_usage(argc == 3, "ADDRESS COUNT");
    handover_run(&handover, argv[1], bench_number(argv[2]));
    return EXIT_SUCCESS;
}
