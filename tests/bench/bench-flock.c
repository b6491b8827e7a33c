/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock that a program takes again and again: by a handle, by requests, and by flock(2).
 *
 *     bench-flock ADDRESS FILE WAY COUNT
 *
 * WAY is
 *   handle, lock, flock           pairs of one process that nobody competes with;
 *   compete-handle, compete-flock the same of four processes that all want the lock all the time;
 *   parked, free                  the first request of another client behind a parked lock, and
 * behind one that was released. */

#include "bench.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define LOCK_NAME   "journal"
#define BATCH       100 /* pairs for one reading of the clock */
#define WARM_UP     20  /* batches */
#define N_PROCESSES 4

typedef struct {
    const char *address;
    const char *path;
    guint count;

    WebLocksManager *manager;
    WebLocksManager *other;
    WebLocksHandle *handle;
    int fd;
} Bench;

static void
begin(Bench *bench)
{
    bench->manager = bench_manager_new(bench_agent_new(bench->address), "bench");
    bench->other = bench_manager_new(bench_agent_new(bench->address), "bench");
    bench->handle = web_locks_manager_prepare(bench->manager, LOCK_NAME, NULL);
    bench->fd = open(bench->path, O_RDWR | O_CLOEXEC);
    bench_check_errno(bench->fd >= 0, bench->path);
}

/* ---- one pair */

static void
pair_of_handle(const Bench *bench)
{
    g_autoptr(GError) error = NULL;

    web_locks_handle_enter_sync(bench->handle, NULL, &error);
    bench_check_error(error, "enter");
    web_locks_handle_leave(bench->handle);
}

static void
pair_of_lock(const Bench *bench)
{
    g_autoptr(WebLocksLock) lock = bench_request(bench->manager, LOCK_NAME);

    bench_release(lock);
}

static void
pair_of_flock(const Bench *bench)
{
    bench_check_errno(flock(bench->fd, LOCK_EX) == 0, "flock");
    bench_check_errno(flock(bench->fd, LOCK_UN) == 0, "flock");
}

typedef void (*Pair)(const Bench *bench);

/* ---- the ways */

static void
run_alone(Bench *bench, Pair pair)
{
    BenchSamples *samples = bench_samples_new_shared(bench->count / BATCH);

    begin(bench);
    for (guint i = 0; i < WARM_UP + bench->count / BATCH; i++) {
        const guint64 began = bench_now();

        for (guint j = 0; j < BATCH; j++)
            pair(bench);
        if (i >= WARM_UP)
            bench_samples_add(samples, began, bench_now());
    }
    bench_print("steady", bench_samples_steady(samples) / BATCH);
}

/* The number of pairs that a process makes until `end`. */
static guint
count_pairs(const Bench *bench, Pair pair, guint64 end)
{
    guint n_pairs = 0;

    while (bench_now() < end) {
        pair(bench);
        n_pairs++;
    }
    return n_pairs;
}

/* The count is the time in milliseconds. */
static void
run_competing(Bench *bench, Pair pair)
{
    const guint64 length = (guint64)bench->count * 1000000;
    int pairs[N_PROCESSES][2];
    pid_t children[N_PROCESSES];
    guint n_pairs = 0;

    for (guint i = 0; i < N_PROCESSES; i++) {
        bench_make_pair(pairs[i]);
        children[i] = bench_fork();
        if (children[i] == 0) {
            begin(bench);
            pair(bench);
            bench_notify(pairs[i][1]);
            bench_wait_notified(pairs[i][1]);
            n_pairs = count_pairs(bench, pair, bench_now() + length);
            bench_check_errno(write(pairs[i][1], &n_pairs, sizeof n_pairs) == sizeof n_pairs,
                              "telling the number of pairs");
            _exit(EXIT_SUCCESS);
        }
        bench_wait_notified(pairs[i][0]);
    }
    for (guint i = 0; i < N_PROCESSES; i++)
        bench_notify(pairs[i][0]);
    for (guint i = 0; i < N_PROCESSES; i++) {
        guint n_of_this = 0;

        bench_join(children[i]);
        bench_check_errno(read(pairs[i][0], &n_of_this, sizeof n_of_this) == sizeof n_of_this,
                          "reading the number of pairs");
        n_pairs += n_of_this;
    }
    bench_print("steady", (double)length / 1000 / n_pairs);
}

/* What another client waits for its request, after a pair of this one. */
static void
run_other(Bench *bench, Pair pair)
{
    BenchSamples *samples = bench_samples_new_shared(bench->count);

    begin(bench);
    for (guint i = 0; i < WARM_UP + bench->count; i++) {
        g_autoptr(WebLocksLock) lock = NULL;
        guint64 began;

        pair(bench);
        began = bench_now();
        lock = bench_request(bench->other, LOCK_NAME);
        if (i >= WARM_UP)
            bench_samples_add(samples, began, bench_now());
        bench_release(lock);
    }
    bench_samples_print(samples, "");
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(Bench *bench, Pair pair);
        Pair pair;
    } ways[] = {{"handle", run_alone, pair_of_handle},
                {"lock", run_alone, pair_of_lock},
                {"flock", run_alone, pair_of_flock},
                {"compete-handle", run_competing, pair_of_handle},
                {"compete-flock", run_competing, pair_of_flock},
                {"parked", run_other, pair_of_handle},
                {"free", run_other, pair_of_lock}};
    Bench bench = {0};

    bench_check_usage(argc == 5, "ADDRESS FILE WAY COUNT");
    bench = (Bench){.address = argv[1], .path = argv[2], .count = bench_number(argv[4])};
    for (guint i = 0; i < G_N_ELEMENTS(ways); i++) {
        if (!g_str_equal(ways[i].name, argv[3]))
            continue;
        ways[i].run(&bench, ways[i].pair);
        return EXIT_SUCCESS;
    }
    bench_die(argv[3], "not one of the ways");
}
