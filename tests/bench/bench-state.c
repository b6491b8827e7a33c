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

#include "service/core/lock-manager.h"
#include "service/core/principal.h"
#include "service/core/user-agent.h"
#include "service/state/state.h"

#define REALTIME_US       G_GINT64_CONSTANT(1700000000000000)
#define PER_AGENT         1024
#define PAIRS             20000
#define MAX_REPETITIONS   101
#define PAIR_FRAMES_BYTES 144 /* of the request: about the mean of both */

typedef struct {
    StateOptions options;
    UserAgent user_agent;
    State *state;
    GPtrArray *agents;
} World;

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
begin(World *world)
{
    g_autoptr(GError) error = NULL;
    Restored restored;
    Limits limits;

    limits_init(&limits);
    for (guint i = 0; i < N_LIMITS; i++)
        limits.max[i] = G_MAXINT32;
    user_agent_init(&world->user_agent, &limits);
    user_agent_set_time(&world->user_agent, 1000000, REALTIME_US);
    world->state = state_open(&world->options, &error);
    g_assert_no_error(error);
    state_restore(world->state, &world->user_agent, &restored, &error);
    g_assert_no_error(error);
    world->agents = g_steal_pointer(&restored.agents);
    restored_clear(&restored);
    user_agent_process_all(&world->user_agent);
    state_begin(world->state, &world->user_agent, &error);
    g_assert_no_error(error);
    state_end_recovery();
}

static void
end(World *world)
{
    state_free(world->state);
    user_agent_shut_down(&world->user_agent);
    for (guint i = 0; i < world->agents->len; i++)
        user_agent_lose(&world->user_agent, world->agents->pdata[i]);
    effects_clear(&world->user_agent.effects);
    g_ptr_array_unref(world->agents);
    user_agent_fini(&world->user_agent);
}

static void
note(World *world, LockRequest *request)
{
    Effects *effects = &world->user_agent.effects;

    if (request != NULL)
        state_note_request(world->state, request);
    for (guint i = 0; i < effects_get_length(effects); i++)
        state_note_request(world->state, effects_get(effects, i)->request);
    effects_clear(effects);
}

static Agent *
get_agent(World *world, guint number)
{
    const PrincipalIdentity identity = {1000, PRINCIPAL_UNSANDBOXED, ""};
    static guint n_names;

    while (world->agents->len <= number) {
        Principal *principal = principal_get(&world->user_agent, &identity);
        g_autofree char *name = g_strdup_printf(":1.%u", n_names++);
        Agent *agent;

        g_assert_cmpint(agent_new(principal, name, &agent), ==, LOCK_RESULT_OK);
        g_ptr_array_add(world->agents, agent);
        principal_unref(principal);
    }
    return world->agents->pdata[number];
}

static guint64
request(World *world, Agent *agent, const char *name)
{
    const LockOptions options = {.mode = LOCK_MODE_EXCLUSIVE, .why = ""};
    g_autoptr(LockManager) manager = lock_manager_get(agent->principal, "default");
    LockRequest *request = NULL;

    state_reserve(world->state, 20);
    g_assert_cmpint(lock_manager_request(manager, agent, name, &options, &request), ==,
                    LOCK_RESULT_OK);
    note(world, request);
    return request->id;
}

/* The second half waits for the names of the first one. */
static void
fill(World *world, guint n, guint n_names)
{
    for (guint i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("lock %u", i % n_names);

        request(world, get_agent(world, i / PER_AGENT), name);
        if (i % 100 == 99)
            state_commit(world->state);
    }
    state_commit(world->state);
}

/* ---- the figures */

static double
time_pairs(World *world, gboolean is_stored)
{
    Agent *agent = get_agent(world, 0);
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
            note(world, live);
            state_commit(world->state);
            state_compact(world->state);
        }
        lock_manager_release(manager, agent, live->id);
        if (is_stored) {
            note(world, NULL);
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
time_write(const World *world)
{
    g_autofree char *path = g_build_filename(world->options.directory, "bare", NULL);
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
measure_pairs(World *world, guint n)
{
    double added[MAX_REPETITIONS], ratios[MAX_REPETITIONS];

    for (guint i = 0; i < n; i++) {
        double stored, bare, writes;

        begin(world);
        stored = time_pairs(world, TRUE);
        end(world);
        begin(world);
        bare = time_pairs(world, FALSE);
        end(world);
        writes = time_write(world);
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
    Agent *agent = get_agent(world, n_requests / PER_AGENT + 1);
    LockManager *manager;
    double longest = 0;

    manager = lock_manager_get(agent->principal, "default");
    for (guint i = 0; i < 3 * n_requests; i++) {
        guint64 id = request(world, agent, "own");
        double begun;

        state_commit(world->state);
        lock_manager_release(manager, agent, id);
        note(world, NULL);
        state_commit(world->state);
        begun = now_us();
        state_compact(world->state);
        longest = MAX(longest, now_us() - begun);
    }
    lock_manager_unref(manager);
    return longest;
}

static void
measure_files(World *world, guint n, guint n_requests)
{
    double pauses[MAX_REPETITIONS] = {0}, starts[MAX_REPETITIONS] = {0};

    begin(world);
    fill(world, n_requests, n_requests / 2);
    for (guint i = 0; i < n; i++) {
        double begun;

        pauses[i] = i < 3 ? time_pause(world, n_requests) : pauses[0];
        end(world);
        begun = now_us();
        begin(world);
        starts[i] = now_us() - begun;
        g_assert_cmpuint(user_agent_get_n_requests(&world->user_agent), ==, n_requests);
    }
    end(world);
    printf("%u requests, half of them waiting: replaced in %.2f ms, restored in %.2f ms\n",
           n_requests, median(pauses, n) / 1e3, median(starts, n) / 1e3);
}

static void
clear(const char *directory)
{
    g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *path = g_build_filename(directory, name, NULL);

        g_remove(path);
    }
}

int
main(int argc, char **argv)
{
    guint n = argc > 1 ? (guint)CLAMP(atoi(argv[1]), 1, MAX_REPETITIONS) : 11;
    char directory[] = "/dev/shm/weblocks-bench-XXXXXX";
    World world = {.options = {.bus_id = {7}, .boot_id = {1}}};

    g_assert_nonnull(g_mkdtemp(directory));
    world.options.directory = directory;
    measure_pairs(&world, n);
    clear(directory);
    measure_files(&world, n, 20000);
    clear(directory);
    measure_files(&world, n, 65536);
    clear(directory);
    g_rmdir(directory);
    return 0;
}
