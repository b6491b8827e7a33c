/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A process that stores state is killed before and after every system call that can change a file,
 * and at random moments of its commits. The file then has the last commit or the one in progress,
 * and the next process continues with ids and tokens that were never issued before.
 *
 *     kill-sweep [--seconds N]
 *
 * In TAP. The file changes in system calls only, so between two of them all instructions are alike.
 * What a kill within one leaves is in test-log.c; kills at a time of the clock, at full speed, hit
 * that too: for N seconds (2) or a thousand kills, but not before one was in a commit.
 * WEBLOCKS_TEST_SEED repeats a run, except for kills by time. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/state/kill-at-call.h"
#include "tests/state/state-world.h"

#define BUS     0xb5
#define N_TURNS 40
#define N_KILLS 1000

/* System calls that change no file; there is a kill at each other one. */
static const guint64 harmless[] = {
    SYS_brk,     SYS_fcntl,      SYS_fstat, SYS_futex,        SYS_geteuid, SYS_getrandom,
    SYS_lseek,   SYS_madvise,    SYS_mmap,  SYS_mprotect,     SYS_mremap,  SYS_munmap,
    SYS_pread64, SYS_newfstatat, SYS_read,  SYS_rt_sigaction,
};

/* The progress of the process, in shared memory. */
typedef struct {
    guint n_opened;   /* the number of returns of state_begin() */
    guint committing; /* the current turn, from 1 */
    guint committed;  /* the last turn whose replies would have been sent */
    gboolean is_in_commit;
} Progress;

typedef struct {
    guint32 seed;
    char *directory;
    char *path;
    volatile Progress *progress;
    World world;                      /* of a process that is not killed */
    char *expected[N_TURNS + 1];      /* the state after each turn there */
    guint64 last_tokens[N_TURNS + 1]; /* the highest token issued by then */
    guint64 last_token;
    guint n_replaced; /* how often the file was replaced there */
    ino_t inode;
    guint n_last, n_next, n_kills; /* how often each was found */
    guint n_tests;
    GRand *rand;
} Sweep;

static void
begin_again(Sweep *sweep)
{
    if (sweep->directory != NULL) {
        world_remove_directory(sweep->directory);
        g_free(sweep->directory);
        g_free(sweep->path);
    }
    sweep->directory = world_new_directory();
    sweep->path = world_path(sweep->directory, BUS, "state");
    sweep->progress->n_opened = sweep->progress->committing = sweep->progress->committed = 0;
    sweep->progress->is_in_commit = FALSE;
}

/* ---- the process that is killed */

static void
request_long_names(World *world)
{
    g_autofree char *name = g_strnfill(1000, 'n');

    for (guint i = 0; i < 120; i++)
        world_request(world, 'A', name, "");
}

/* Does the first turns, which depend only on the seed. Each is noted before it and before its
 * commit. */
static void
run_turns(World *world,
          Sweep *sweep,
          guint n_turns,
          void (*note)(Sweep *sweep, guint turn, gboolean is_in_commit))
{
    for (guint turn = 1; turn <= n_turns; turn++) {
        GRand *rand = g_rand_new_with_seed(sweep->seed + turn);
        guint n = turn % 10 == 0 ? 100 : 1 + turn % 4;

        note(sweep, turn, FALSE);
        if (turn == 1) { /* whatever the seed */
            /* an owner of another kind than its client; two that hold a counting lock */
            world_request(world, 'E', "z", "bucket=user:documents");
            world_request(world, 'E', "counting", "slots=2");
            world_request(world, 'E', "counting", "slots=2");
        }
        for (guint i = 0; i < n; i++)
            world_do_something(world, rand);
        if (turn % 5 == 0) /* a lot, which has ended soon: so the file is replaced */
            request_long_names(world);
        else if (turn % 5 == 1 && world->agents[0] != NULL)
            world_terminate(world, 'A');
        g_rand_free(rand);
        note(sweep, turn, TRUE);
        world_commit(world);
    }
    note(sweep, n_turns + 1, FALSE);
}

static void
note_progress(Sweep *sweep, guint turn, gboolean is_in_commit)
{
    volatile Progress *progress = sweep->progress;

    progress->is_in_commit = is_in_commit;
    if (!is_in_commit) {
        progress->committed = turn - 1;
        progress->committing = MIN(turn, N_TURNS);
    }
}

/* Acts as a service; after `restart_after` turns, the state is closed and opened again, as by a
 * successor. */
static G_NORETURN void
run_child(Sweep *sweep, guint restart_after)
{
    World world;

    world_open(&world, sweep->directory, BUS);
    sweep->progress->n_opened++;
    run_turns(&world, sweep, restart_after, note_progress);
    if (restart_after < N_TURNS) {
        world_close(&world);
        world_open(&world, sweep->directory, BUS);
        sweep->progress->n_opened++;
    }
    _exit(EXIT_SUCCESS);
}

/* ---- expected states */

static void
note_expected(Sweep *sweep, guint turn, gboolean is_in_commit)
{
    struct stat status;

    if (is_in_commit)
        return;
    g_assert_cmpint(stat(sweep->path, &status), ==, 0);
    sweep->n_replaced += status.st_ino != sweep->inode;
    sweep->inode = status.st_ino;
    sweep->expected[turn - 1] = world_describe(&sweep->world);
    for (guint i = 0; i < WORLD_AGENTS; i++) {
        const Agent *agent = sweep->world.agents[i];

        for (const GList *link = agent != NULL ? agent->requests.head : NULL; link != NULL;
             link = link->next)
            sweep->last_token = MAX(sweep->last_token, ((const LockRequest *)link->data)->token);
    }
    sweep->last_tokens[turn - 1] = sweep->last_token;
}

static void
rehearse(Sweep *sweep)
{
    begin_again(sweep);
    world_open(&sweep->world, sweep->directory, BUS);
    run_turns(&sweep->world, sweep, N_TURNS, note_expected);
    world_close(&sweep->world);
    printf("# the file was replaced %u times\n", sweep->n_replaced - 1);
    g_assert_cmpuint(sweep->n_replaced, >, 3);
}

/* ---- the state that is found */

static void
fail(const Sweep *sweep, const char *what, guint64 where, const char *found)
{
    const volatile Progress *progress = sweep->progress;

    printf("not ok %u - %s, killed at %" G_GUINT64_FORMAT "\n", sweep->n_tests + 1, what, where);
    printf("# opened %u times, committing %u, committed %u\n", progress->n_opened,
           progress->committing, progress->committed);
    for (guint i = 0; i <= N_TURNS; i++)
        if (g_str_equal(found, sweep->expected[i]))
            printf("# found what there was after %u\n", i);
    printf("# found %s\n", found);
    exit(EXIT_FAILURE);
}

/* The next process starts with the last commit or the one in progress, and continues with new
 * tokens. */
static void
check_killed(Sweep *sweep, const char *what, guint64 where)
{
    const volatile Progress *progress = sweep->progress;
    g_autofree char *found = NULL;
    World world;
    guint64 id;

    world_open(&world, sweep->directory, BUS);
    found = world_describe(&world);
    sweep->n_kills++;
    if ((progress->n_opened == 0 && found[0] == '\0') ||
        g_str_equal(found, sweep->expected[progress->committed]))
        sweep->n_last++;
    else if (g_str_equal(found, sweep->expected[progress->committing]))
        sweep->n_next++;
    else
        fail(sweep, what, where, found);
    id = world_request(&world, 'A', "successor", "");
    if (world_find(&world, 'A', id)->token <= sweep->last_tokens[progress->committed])
        fail(sweep, what, where, "a token that was issued before");
    world_commit(&world);
    world_close(&world);
}

/* ---- killing */

typedef struct {
    Sweep *sweep;
    guint restart_after;
} Child;

static void
run_traced(gpointer data)
{
    const Child *child = data;

    run_child(child->sweep, child->restart_after);
}

/* Kills at the `n`th stop. */
static KillResult
kill_child(Sweep *sweep, guint n, guint restart_after)
{
    Child child = {sweep, restart_after};
    const KillTarget target = {harmless, G_N_ELEMENTS(harmless), 0, run_traced, &child};

    begin_again(sweep);
    return kill_at_call(&target, n);
}

static void
report(Sweep *sweep, const char *what)
{
    sweep->n_tests++;
    printf("ok %u - %s: %u kills, %u times the last one, %u times the next\n", sweep->n_tests, what,
           sweep->n_kills, sweep->n_last, sweep->n_next);
    sweep->n_kills = sweep->n_last = sweep->n_next = 0;
}

/* All such calls: of the first start, of the commits, and of the start of a successor. */
static void
sweep_calls(Sweep *sweep, guint restart_after, const char *what)
{
    guint n = 1;

    for (; kill_child(sweep, n, restart_after) == KILL_DONE; n++)
        check_killed(sweep, what, n);
    g_assert_cmpuint(n, >, 20);
    report(sweep, what);
}

/* Kills without tracing, so at full speed: this long after the commit of that turn began. */
static void
kill_at_moment(Sweep *sweep, guint turn, gint64 after_ns)
{
    volatile Progress *progress = sweep->progress;
    struct timespec begun, now;
    int status;
    pid_t pid;

    begin_again(sweep);
    fflush(stdout);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0)
        run_child(sweep, N_TURNS);
    while (progress->committing < turn || (progress->committing == turn && !progress->is_in_commit))
        ;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < after_ns);
    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
}

/* Only kills within a commit count towards the maximum. */
static void
sweep_moments(Sweep *sweep, guint seconds)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
    guint n_hits = 0;

    while (n_hits == 0 || (n_hits < N_KILLS && g_get_monotonic_time() < end_us)) {
        guint turn = (guint)g_rand_int_range(sweep->rand, 1, N_TURNS);
        gint64 after_ns = g_rand_int_range(sweep->rand, 0, 60000);

        kill_at_moment(sweep, turn, after_ns);
        n_hits += (guint)sweep->progress->is_in_commit;
        check_killed(sweep, "a moment", (guint64)after_ns);
    }
    printf("# %u of them in a commit\n", n_hits);
    report(sweep, "moments");
}

static void
end(Sweep *sweep)
{
    world_remove_directory(sweep->directory);
    g_free(sweep->directory);
    g_free(sweep->path);
    for (guint i = 0; i <= N_TURNS; i++)
        g_free(sweep->expected[i]);
    g_rand_free(sweep->rand);
}

int
main(int argc, char **argv)
{
    const char *seed = g_getenv("WEBLOCKS_TEST_SEED");
    guint seconds = argc > 2 && g_str_equal(argv[1], "--seconds")
                        ? (guint)g_ascii_strtoull(argv[2], NULL, 10)
                        : 2;
    Sweep sweep = {.seed = seed != NULL ? (guint32)g_ascii_strtoull(seed, NULL, 10)
                                        : g_random_int() & 0xffffff};

    printf("# WEBLOCKS_TEST_SEED=%u\n", sweep.seed);
    sweep.rand = g_rand_new_with_seed(sweep.seed);
    sweep.progress =
        mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(sweep.progress != MAP_FAILED);
    if (kill_child(&sweep, 0, N_TURNS) == KILL_NOT_PERMITTED) {
        printf("1..0 # SKIP no process may be traced here\n");
        return EXIT_SUCCESS;
    }
    rehearse(&sweep);
    sweep_calls(&sweep, N_TURNS, "system calls of commits");
    sweep_calls(&sweep, 3, "system calls of a beginning, and of the next");
    sweep_moments(&sweep, seconds);
    printf("1..%u\n", sweep.n_tests);
    end(&sweep);
    return EXIT_SUCCESS;
}
