/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock handed over between two processes in strict alternation: one has it, the other sleeps
 * until it gets it. The holder waits until the other is asleep, stores the time and releases; the
 * other stores the time when it has the lock. Then the roles are exchanged.
 *
 *     bench-handover ADDRESS WAY COUNT [FILE]
 *
 * WAY is
 *   async     until the callback of an asynchronous request of the library;
 *   wait      until a request of the library returns that blocks;
 *   handle    the same of a handle, whose holder has entered it again without a message;
 *   packets   from RELEASE until GRANTED is read, without the library (hand.h);
 *   loop      the same, but each packet is awaited in a GLib main loop, by a source that does
 *             nothing else;
 *   name      from ReleaseName of a bus name until NameAcquired is read, on bare sockets
 *             (raw-bus.h);
 *   flock     by flock(2) on FILE;
 *   wake-up   no lock: a byte that wakes a sleeping process, over a socketpair.
 *
 * Prints steady, mean, p50 and p99. */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hand.h"
#include "raw-bus.h"

#define WARM_UP    20
#define SETTLE_US  100
#define LOCK_NAME  "printer"
#define BENCH_NAME "org.w3.WebLocks.Bench"

/* One of the two processes; what of it is used depends on the way. */
typedef struct {
    WebLocksAgent *agent;
    WebLocksManager *manager;
    WebLocksLock *lock;
    WebLocksRequest *request;
    WebLocksHandle *handle;
    gboolean is_released;
    Hand *hand;
    guint64 key;
    RawBus *bus;
    RawCall *request_name, *release_name;
    int fd;
} Player;

typedef struct {
    const char *name;
    void (*connect)(Player *player, const char *address);
    /* Gets the lock at once, before the first turn. */
    void (*take)(Player *player);
    /* Before the other process requests it, of the process that has acquired the lock; or NULL. */
    void (*settle)(Player *player);
    /* Requests the lock, and returns when the request is queued. */
    void (*queue)(Player *player);
    /* Waits until the lock is granted. */
    void (*acquire)(Player *player);
    /* Releases the lock, and returns when that is confirmed. */
    void (*release)(Player *player);
} Way;

/* ---- the library */

static void
connect_library(Player *player, const char *address)
{
    player->agent = bench_agent_new(address);
    player->manager = bench_manager_new(player->agent, "bench");
    player->handle = web_locks_manager_prepare(player->manager, LOCK_NAME, NULL);
    bench_barrier(player->agent); /* the connection is complete */
}

static void
take_lock(Player *player)
{
    player->lock = bench_request(player->manager, LOCK_NAME);
}

static void
on_requested(GObject *source, GAsyncResult *result, gpointer player)
{
    ((Player *)player)->lock = bench_request_finish(source, result);
}

static void
queue_async(Player *player)
{
    web_locks_manager_request_async(player->manager, LOCK_NAME, NULL, NULL, on_requested, player);
    /* The next event is the answer, that the request waits. A call on the bus would fill the
     * processor's caches with what the hand-over does not need. */
    g_main_context_iteration(NULL, TRUE);
}

static void
acquire_async(Player *player)
{
    while (player->lock == NULL)
        g_main_context_iteration(NULL, TRUE);
}

static void
on_released(GObject *source, GAsyncResult *result, gpointer player)
{
    g_autoptr(GError) error = NULL;

    web_locks_lock_release_finish(WEB_LOCKS_LOCK(source), result, &error);
    bench_check_error(error, "release");
    ((Player *)player)->is_released = TRUE;
}

static void
release_async(Player *player)
{
    player->is_released = FALSE;
    web_locks_lock_release_async(player->lock, NULL, on_released, player);
    while (!player->is_released)
        g_main_context_iteration(NULL, TRUE);
    g_clear_object(&player->lock);
}

static void
queue_wait(Player *player)
{
    player->request = web_locks_request_new(player->manager, LOCK_NAME, NULL, NULL);
    bench_barrier(player->agent);
}

static void
wait_for_request(const Player *player)
{
    while (!web_locks_request_wait(player->request))
        continue;
}

static void
acquire_wait(Player *player)
{
    g_autoptr(GError) error = NULL;

    wait_for_request(player);
    player->lock = web_locks_request_finish(player->request, &error);
    bench_check_error(error, "request");
    g_clear_object(&player->request);
}

static void
release_wait(Player *player)
{
    web_locks_lock_release(player->lock);
    g_clear_object(&player->lock);
}

static void
enter(Player *player)
{
    g_autoptr(GError) error = NULL;

    web_locks_handle_enter_sync(player->handle, NULL, &error);
    bench_check_error(error, "enter");
}

static void
leave(Player *player)
{
    web_locks_handle_leave(player->handle);
}

/* After a wait the lock is an ordinary one; the next time it is in a cell. */
static void
settle_handle(Player *player)
{
    for (guint i = 0; i < 2; i++) {
        leave(player);
        enter(player);
    }
}

static void
queue_handle(Player *player)
{
    player->request = web_locks_handle_request(player->handle, NULL);
    bench_barrier(player->agent);
}

static void
acquire_handle(Player *player)
{
    g_autoptr(GError) error = NULL;

    wait_for_request(player);
    web_locks_handle_take(player->handle, player->request, &error);
    bench_check_error(error, "enter");
    g_clear_object(&player->request);
}

/* ---- packets */

static void
connect_hand(Player *player, const char *address)
{
    player->hand = hand_new(address);
}

static void
connect_hand_in_loop(Player *player, const char *address)
{
    connect_hand(player, address);
    hand_use_main_loop(player->hand);
}

static void
take_by_hand(Player *player)
{
    player->key = hand_request(player->hand, LOCK_NAME);
}

static void
queue_by_hand(Player *player)
{
    player->key = hand_queue(player->hand, LOCK_NAME);
}

static void
acquire_by_hand(Player *player)
{
    hand_await_grant(player->hand);
}

static void
release_by_hand(Player *player)
{
    hand_release(player->hand, player->key);
}

/* ---- a bus name */

static void
call(const Player *player, const RawCall *what, guint32 expected)
{
    raw_bus_send(player->bus, what);
    if (raw_bus_await_reply(player->bus) != expected)
        bench_die("bus name", "an answer that was not expected");
}

static void
connect_bus(Player *player, const char *address)
{
    player->bus = raw_bus_new(address);
    player->request_name = raw_call_new_request_name(BENCH_NAME);
    player->release_name = raw_call_new_release_name(BENCH_NAME);
}

static void
take_name(Player *player)
{
    call(player, player->request_name, RAW_NAME_OWNER);
}

static void
queue_name(Player *player)
{
    call(player, player->request_name, RAW_NAME_IN_QUEUE);
}

static void
acquire_name(Player *player)
{
    raw_bus_await_name(player->bus, BENCH_NAME);
}

static void
release_name(Player *player)
{
    call(player, player->release_name, RAW_NAME_OWNER);
}

/* ---- flock() */

static const char *file_path;

static void
open_file(Player *player, G_GNUC_UNUSED const char *address)
{
    player->fd = open(file_path, O_RDWR | O_CLOEXEC);
    bench_check_errno(player->fd >= 0, file_path);
}

static void
lock_file(Player *player)
{
    bench_check_errno(flock(player->fd, LOCK_EX) == 0, "flock");
}

/* It is queued by the call that blocks, before the other process wakes up. */
static void
queue_by_waiting(G_GNUC_UNUSED Player *player)
{
}

static void
unlock_file(Player *player)
{
    bench_check_errno(flock(player->fd, LOCK_UN) == 0, "flock");
}

/* ---- a byte */

static int wake_pair[2]; /* for the process that is the first to have the lock, and the other one */

static void
use_second_end(Player *player, G_GNUC_UNUSED const char *address)
{
    player->fd = wake_pair[1];
}

static void
use_first_end(Player *player)
{
    player->fd = wake_pair[0];
}

static void
be_woken(Player *player)
{
    bench_wait_notified(player->fd);
}

static void
wake(Player *player)
{
    bench_notify(player->fd);
}

static const Way ways[] = {
    {"async", connect_library, take_lock, NULL, queue_async, acquire_async, release_async},
    {"wait", connect_library, take_lock, NULL, queue_wait, acquire_wait, release_wait},
    {"handle", connect_library, enter, settle_handle, queue_handle, acquire_handle, leave},
    {"packets", connect_hand, take_by_hand, NULL, queue_by_hand, acquire_by_hand, release_by_hand},
    {"loop", connect_hand_in_loop, take_by_hand, NULL, queue_by_hand, acquire_by_hand,
     release_by_hand},
    {"name", connect_bus, take_name, NULL, queue_name, acquire_name, release_name},
    {"flock", open_file, lock_file, NULL, queue_by_waiting, lock_file, unlock_file},
    {"wake-up", use_second_end, use_first_end, NULL, queue_by_waiting, be_woken, wake},
};

/* ---- the alternation */

typedef struct {
    guint64 released_at;
    guint turn;
} Shared;

typedef struct {
    const Way *way;
    Player player;
    Shared *shared;
    BenchSamples *samples;
    int fd; /* to the other process */
    gboolean is_first;
} Side;

static void
release_lock(Side *side)
{
    if (side->way->settle != NULL)
        side->way->settle(&side->player);
    bench_notify(side->fd);
    bench_wait_notified(side->fd); /* the other process is queued */
    bench_pause(SETTLE_US);
    side->shared->released_at = bench_now();
    side->way->release(&side->player);
}

static void
take_over(Side *side)
{
    guint64 now;

    bench_wait_notified(side->fd); /* the other process has the lock */
    side->way->queue(&side->player);
    bench_notify(side->fd);
    side->way->acquire(&side->player);
    now = bench_now();
    if (side->shared->turn++ >= WARM_UP)
        bench_samples_add(side->samples, side->shared->released_at, now);
}

static void
run(const Way *way, const char *address, guint count)
{
    Side side = {.way = way, .samples = bench_samples_new_shared(count)};
    int pair[2];
    pid_t child;

    side.shared =
        mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_check_errno(side.shared != MAP_FAILED, "shared memory");
    bench_make_pair(pair);
    bench_make_pair(wake_pair);
    child = bench_fork();
    side.is_first = child != 0;
    side.fd = pair[side.is_first ? 0 : 1];
    close(pair[side.is_first ? 1 : 0]);
    /* The first process has the lock before the second is queued. */
    if (!side.is_first)
        bench_wait_notified(side.fd);
    way->connect(&side.player, address);
    if (side.is_first) {
        way->take(&side.player);
        bench_notify(side.fd);
    }
    for (guint i = 0; i < WARM_UP + count; i++) {
        if ((i % 2 == 0) == side.is_first)
            release_lock(&side);
        else
            take_over(&side);
    }
    if (child == 0)
        _exit(EXIT_SUCCESS);
    bench_join(child);
    bench_samples_print(side.samples, "");
}

int
main(int argc, char **argv)
{
    bench_check_usage(argc == 4 || argc == 5, "ADDRESS WAY COUNT [FILE]");
    file_path = argv[4];
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (!g_str_equal(ways[i].name, argv[2]))
            continue;
        run(&ways[i], argv[1], bench_number(argv[3]));
        return EXIT_SUCCESS;
    }
    bench_die(argv[2], "not one of the ways");
}
