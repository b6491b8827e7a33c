/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock handed over: from the holder's release until the callback of the waiting process.
 *
 *     bench-lock-handover ADDRESS COUNT
 */

#include "handover.h"

#include <stdlib.h>

#define LOCK_NAME "printer"

typedef struct {
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock;
    gboolean released;
} Player;

static gpointer
begin(const char *address, gboolean first)
{
    Player *player = g_new0(Player, 1);

    player->agent = bench_agent_new(address);
    player->manager = bench_manager_new(player->agent, "bench");
    if (first)
        player->lock = bench_request(player->manager, LOCK_NAME);
    else
        bench_barrier(player->agent); /* the connection is complete */
    return player;
}

static void
on_requested(GObject *source, GAsyncResult *result, gpointer data)
{
    Player *player = data;

    player->lock = bench_request_finish(source, result);
}

static void
queue(gpointer data)
{
    Player *player = data;

    web_locks_manager_request_async(player->manager, LOCK_NAME, NULL, NULL, on_requested, player);
    bench_barrier(player->agent);
}

static void
acquire(gpointer data)
{
    Player *player = data;

    while (player->lock == NULL)
        g_main_context_iteration(NULL, TRUE);
}

static void
on_released(GObject *source, GAsyncResult *result, gpointer data)
{
    g_autoptr(GError) error = NULL;
    Player *player = data;

    web_locks_lock_release_finish(WEB_LOCKS_LOCK(source), result, &error);
    bench_check_error(error, "release");
    player->released = TRUE;
}

static void
release_lock(gpointer data)
{
    Player *player = data;

    player->released = FALSE;
    web_locks_lock_release_async(player->lock, NULL, on_released, player);
    while (!player->released)
        g_main_context_iteration(NULL, TRUE);
    g_clear_object(&player->lock);
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
