/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock handed over by a process that has taken it again without a message, and by flock(2): from
 * the release until the process that waits has it, in a call that blocks.
 *
 *     bench-flock-handover ADDRESS FILE handle|lock|flock COUNT
 */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "handover.h"

#define LOCK_NAME "journal"

static const char *file_path;

typedef struct {
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksHandle *handle;
    WebLocksRequest *request;
    WebLocksLock *lock;
    int fd;
} Player;

static gpointer
connect_player(const char *address)
{
    Player *player = g_new0(Player, 1);

    player->agent = bench_agent_new(address);
    player->manager = bench_manager_new(player->agent, "bench");
    player->handle = web_locks_manager_prepare(player->manager, LOCK_NAME, NULL);
    bench_barrier(player->agent);
    return player;
}

static void
wait_for(WebLocksRequest *request)
{
    while (!web_locks_request_wait(request))
        continue;
}

/* ---- a handle */

static void
enter(Player *player)
{
    g_autoptr(GError) error = NULL;

    web_locks_handle_enter_sync(player->handle, NULL, &error);
    bench_check_error(error, "enter");
}

static gpointer
begin_handle(const char *address, gboolean first)
{
    Player *player = connect_player(address);

    if (first)
        enter(player);
    return player;
}

/* After a wait the lock is an ordinary one; the next time it is in a cell. */
static void
settle_handle(gpointer data)
{
    Player *player = data;

    for (guint i = 0; i < 2; i++) {
        web_locks_handle_leave(player->handle);
        enter(player);
    }
}

static void
queue_handle(gpointer data)
{
    Player *player = data;

    player->request = web_locks_handle_request(player->handle, NULL);
    bench_barrier(player->agent);
}

static void
acquire_handle(gpointer data)
{
    g_autoptr(GError) error = NULL;
    Player *player = data;

    wait_for(player->request);
    web_locks_handle_take(player->handle, player->request, &error);
    bench_check_error(error, "enter");
    g_clear_object(&player->request);
}

static void
release_handle(gpointer data)
{
    Player *player = data;

    web_locks_handle_leave(player->handle);
}

/* ---- a lock */

static gpointer
begin_lock(const char *address, gboolean first)
{
    Player *player = connect_player(address);

    if (first)
        player->lock = bench_request(player->manager, LOCK_NAME);
    return player;
}

static void
queue_lock(gpointer data)
{
    Player *player = data;

    player->request = web_locks_request_new(player->manager, LOCK_NAME, NULL, NULL);
    bench_barrier(player->agent);
}

static void
acquire_lock(gpointer data)
{
    g_autoptr(GError) error = NULL;
    Player *player = data;

    wait_for(player->request);
    player->lock = web_locks_request_finish(player->request, &error);
    bench_check_error(error, "request");
    g_clear_object(&player->request);
}

static void
release_lock(gpointer data)
{
    Player *player = data;

    web_locks_lock_release(player->lock);
    g_clear_object(&player->lock);
}

/* ---- flock() */

static gpointer
begin_flock(const char *address, gboolean first)
{
    Player *player = g_new0(Player, 1);

    player->fd = open(file_path, O_RDWR | O_CLOEXEC);
    bench_check_errno(player->fd >= 0, file_path);
    if (first)
        bench_check_errno(flock(player->fd, LOCK_EX) == 0, "flock");
    return player;
}

static void
queue_flock(gpointer data)
{
    /* It is queued by the call that blocks, before the other process wakes up. */
}

static void
acquire_flock(gpointer data)
{
    const Player *player = data;

    bench_check_errno(flock(player->fd, LOCK_EX) == 0, "flock");
}

static void
release_flock(gpointer data)
{
    const Player *player = data;

    bench_check_errno(flock(player->fd, LOCK_UN) == 0, "flock");
}

int
main(int argc, char **argv)
{
    static const Handover handle = {.begin = begin_handle,
                                    .settle = settle_handle,
                                    .queue = queue_handle,
                                    .acquire = acquire_handle,
                                    .release = release_handle};
    static const Handover lock = {
        .begin = begin_lock, .queue = queue_lock, .acquire = acquire_lock, .release = release_lock};
    static const Handover by_flock = {.begin = begin_flock,
                                      .queue = queue_flock,
                                      .acquire = acquire_flock,
                                      .release = release_flock};
    const Handover *handover;

    bench_check_usage(argc == 5, "ADDRESS FILE handle|lock|flock COUNT");
    file_path = argv[2];
    handover = g_str_equal(argv[3], "handle") ? &handle
               : g_str_equal(argv[3], "lock") ? &lock
                                              : &by_flock;
    handover_run(handover, argv[1], bench_number(argv[4]));
    return EXIT_SUCCESS;
}
