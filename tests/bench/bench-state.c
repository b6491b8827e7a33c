/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the stored state costs, without a bus: what storing adds to a request and its release,
 * compared with two writes of the same size; how long replacing the file takes; how long restoring
 * takes.
 *
 *     bench-state [REPETITIONS]
 *
 * Each figure is processor time, the median of the repetitions (11). The file is in /dev/shm, as
 * the runtime directory is in memory. */

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/state/state-world.h"

#define PAIRS             20000
#define MAX_REPETITIONS   101
#define PAIR_FRAMES_BYTES 144 /* of the request: about the mean of both */

static double
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
median(double *values, guint n)
{
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

/* ---- the world */

static void
begin(World *world, const char *directory)
{
    world_open(world, directory, 7);
    for (guint i = 0; i < N_LIMITS; i++)
        world->user_agent.limits.max[i] = G_MAXINT32;
}

/* The second half waits for the names of the first one. */
static void
fill(World *world, guint n, guint n_names)
{
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("lock %u", i % n_names);

        world_request(world, 'A', name, "");
        if (i % 100 == 99)
            state_commit(world->state);
    }
    state_commit(world->state);
}

/* ---- the figures */

static double
time_pairs(World *world, gboolean is_stored)
{
    Agent *agent = world_agent(world, 'A');
    LockManager *manager;
    double begun;

    fill(world, 1, 1);
    manager = lock_manager_get(agent->principal, "default");
    begun = now_us();
    for (guint i = 0; i < PAIRS; i++) {
        const LockOptions options = {.mode = LOCK_MODE_EXCLUSIVE, .why = ""};
        LockRequest *live = NULL;

        if (is_stored)
            state_reserve(world->state, 20);
        lock_manager_request(manager, agent, "a name", &options, &live);
        if (is_stored) {
            world_note_changes(world, live);
            state_commit(world->state);
            state_compact(world->state);
        }
        lock_manager_release(manager, agent, live->id);
        if (is_stored) {
            world_note_changes(world, NULL);
            state_commit(world->state);
            state_compact(world->state);
        }
        effects_clear(&world->user_agent.effects);
    }
    begun = now_us() - begun;
    lock_manager_unref(manager);
    return begun / PAIRS;
}

/* One write of the size of a request's frame, over the same range. */
static double
time_write(const char *directory)
{
    g_autofree char *path = g_build_filename(directory, "bare", NULL);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const char bytes[PAIR_FRAMES_BYTES] = {1};
    double begun;

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(fallocate(fd, 0, 0, 256 * 1024), ==, 0);
    begun = now_us();
    for (guint i = 0; i < PAIRS; i++)
        if (pwrite(fd, bytes, sizeof bytes, (off_t)(i % 1800 * sizeof bytes)) != sizeof bytes)
            g_error("pwrite");
    begun = now_us() - begun;
    close(fd);
    g_remove(path);
    return begun / PAIRS;
}

static void
measure_pairs(const char *directory, guint n)
{
    World world;
    double added[MAX_REPETITIONS], ratios[MAX_REPETITIONS];

    for (guint i = 0; i < n; i++) {
        double stored, bare, writes;

        begin(&world, directory);
        stored = time_pairs(&world, TRUE);
        world_close(&world);
        begin(&world, directory);
        bare = time_pairs(&world, FALSE);
        world_close(&world);
        writes = time_write(directory);
        added[i] = stored - bare;
        ratios[i] = added[i] / writes;
    }
    printf("what storing adds to a pair: %.2f us, %.2f bare writes\n", median(added, n),
           median(ratios, n));
}

/* Until the file has been replaced once, the longest call. */
static double
time_pause(World *world, guint n_requests)
{
    double longest = 0;

    for (guint i = 0; i < 3 * n_requests; i++) {
        guint64 id = world_request(world, 'B', "own", "");
        double begun;

        state_commit(world->state);
        world_release(world, 'B', id);
        state_commit(world->state);
        begun = now_us();
        state_compact(world->state);
        longest = MAX(longest, now_us() - begun);
    }
    return longest;
}

static void
measure_files(const char *directory, guint n, guint n_requests)
{
    World world;
    double pauses[MAX_REPETITIONS] = {0}, starts[MAX_REPETITIONS] = {0};

    begin(&world, directory);
    fill(&world, n_requests, n_requests / 2);
    for (guint i = 0; i < n; i++) {
        double begun;

        pauses[i] = i < 3 ? time_pause(&world, n_requests) : pauses[0];
        world_close(&world);
        begun = now_us();
        begin(&world, directory);
        starts[i] = now_us() - begun;
        g_assert_cmpuint(user_agent_get_n_requests(&world.user_agent), ==, n_requests);
    }
    world_close(&world);
    printf("%u requests, half of them waiting: replaced in %.2f ms, restored in %.2f ms\n",
           n_requests, median(pauses, n) / 1e3, median(starts, n) / 1e3);
}

int
main(int argc, char **argv)
{
    const guint n = argc > 1 ? (guint)CLAMP(atoi(argv[1]), 1, MAX_REPETITIONS) : 11;
    const guint sizes[] = {20000, 65536};
    g_autofree char *directory = world_new_directory();

    measure_pairs(directory, n);
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        world_remove_directory(directory);
        g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
        measure_files(directory, n, sizes[i]);
    }
    world_remove_directory(directory);
    return 0;
}
