/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A process that stores state is killed before and after every system call, and at random
 * instructions of its commits. The file then has the last commit or the one in progress, and the
 * next process continues with ids and tokens that were never issued before.
 *
 *     kill-sweep [--seconds N]
 *
 * In TAP. The file changes in system calls only, so between two of them all instructions are alike;
 * what a kill within one leaves is in test-log.c. Nevertheless instructions are chosen in two ways:
 * by counting them in single steps, which takes long, so it stops after N seconds (2) or a thousand
 * kills; and by time, with the same limits, but not before one kill was in a commit.
 * WEBLOCKS_TEST_SEED repeats a run, except for kills by time. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/state/state-world.h"

#define BUS            0xb5
#define N_TURNS        40
#define N_INSTRUCTIONS 1000
#define NEVER          G_MAXUINT

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
    char *expected[N_TURNS + 1];     /* the state after each turn */
    guint64 last_token[N_TURNS + 1]; /* the highest token issued by then */
    guint64 last_id[N_TURNS + 1];    /* the highest id of any agent */
    guint n_last, n_next, n_kills;   /* how often each was found */
    guint n_tests;
    GRand *rand;
} Sweep;

/* ---- the process that is killed */

static void
request_long_names(World *world)
{
    g_autofree char *name = g_strnfill(1000, 'n');

    for (guint i = 0; i < 120; i++)
        world_request(world, 'A', name, "");
}

/* Does the turns from `from` to `to`, which depend only on the seed. */
static void
run_turns(World *world,
          guint32 seed,
          guint first,
          guint last,
          void (*on_turn)(guint, gpointer),
          gpointer data)
{
    for (guint turn = first; turn <= last; turn++) {
        GRand *rand = g_rand_new_with_seed(seed + turn);
        guint n = turn % 10 == 0 ? 100 : 1 + turn % 4;

        on_turn(turn, data);
        for (guint i = 0; i < n; i++)
            world_do_something(world, rand);
        if (turn % 5 == 0) /* a lot, which has ended soon: so the file is replaced */
            request_long_names(world);
        else if (turn % 5 == 1 && world->agents[0] != NULL)
            world_terminate(world, 'A');
        g_rand_free(rand);
        on_turn(turn, NULL);
        world_commit(world);
    }
    on_turn(last + 1, data);
}

typedef struct {
    Sweep *sweep;
    guint stop_at; /* the turn before whose commit it stops, for single steps by the parent */
} Child;

static Child the_child;

/* Called before each turn with data, and after its changes without. */
static void
report_turn(guint turn, gpointer data)
{
    volatile Progress *progress = the_child.sweep->progress;

    if (data != NULL) {
        progress->is_in_commit = FALSE;
        progress->committed = turn - 1;
        if (turn <= N_TURNS)
            progress->committing = turn;
    } else {
        if (turn == the_child.stop_at)
            raise(SIGUSR1);
        progress->is_in_commit = TRUE;
    }
}

/* Acts as a service; after `restart_after` turns, the state is closed and opened again, as by a
 * successor. */
static G_NORETURN void
run_child(Sweep *sweep, guint stop_at, guint restart_after)
{
    World world;

    the_child = (Child){sweep, stop_at};
    world_open(&world, sweep->directory, BUS);
    sweep->progress->n_opened++;
    run_turns(&world, sweep->seed, 1, restart_after, report_turn, sweep);
    if (restart_after < N_TURNS) {
        world_close(&world);
        world_open(&world, sweep->directory, BUS);
        sweep->progress->n_opened++;
    }
    _exit(EXIT_SUCCESS);
}

/* ---- expected states */

typedef struct {
    Sweep *sweep;
    World *world;
    char *path;
    ino_t inode;
    guint n_replaced; /* how often the file was replaced */
} Rehearsal;

static Rehearsal rehearsal;

static void
note_expected(guint turn, gpointer data)
{
    Sweep *sweep = rehearsal.sweep;
    World *world = rehearsal.world;

    struct stat status;

    if (data == NULL)
        return;
    g_assert_cmpint(stat(rehearsal.path, &status), ==, 0);
    rehearsal.n_replaced += status.st_ino != rehearsal.inode;
    rehearsal.inode = status.st_ino;
    sweep->expected[turn - 1] = world_describe(world);
    for (guint i = 0; i < WORLD_AGENTS; i++) {
        const Agent *agent = world->agents[i];

        if (agent == NULL)
            continue;
        sweep->last_id[turn - 1] = MAX(sweep->last_id[turn - 1], agent->last_id);
        for (const GList *link = agent->requests.head; link != NULL; link = link->next)
            sweep->last_token[turn - 1] =
                MAX(sweep->last_token[turn - 1], ((const LockRequest *)link->data)->token);
    }
}

static void
rehearse(Sweep *sweep)
{
    g_autofree char *directory = world_new_directory();
    World world;

    rehearsal = (Rehearsal){sweep, &world, world_path(directory, BUS, "state"), 0, 0};
    world_open(&world, directory, BUS);
    run_turns(&world, sweep->seed, 1, N_TURNS, note_expected, sweep);
    printf("# the file was replaced %u times\n", rehearsal.n_replaced - 1);
    g_assert_cmpuint(rehearsal.n_replaced, >, 3);
    g_free(rehearsal.path);
    world_close(&world);
    world_remove_directory(directory);
    for (guint i = 1; i <= N_TURNS; i++) {
        sweep->last_token[i] = MAX(sweep->last_token[i], sweep->last_token[i - 1]);
        sweep->last_id[i] = MAX(sweep->last_id[i], sweep->last_id[i - 1]);
    }
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
    if (world_find(&world, 'A', id)->token <= sweep->last_token[progress->committed])
        fail(sweep, what, where, "a token that was issued before");
    world_commit(&world);
    world_close(&world);
}

/* ---- killing */

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

/* Returns the child, stopped before it starts. -1: tracing is not permitted. */
static pid_t
start(Sweep *sweep, guint stop_at, guint restart_after)
{
    pid_t pid;
    int status;

    begin_again(sweep);
    fflush(stdout);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(EXIT_FAILURE);
        raise(SIGSTOP);
        run_child(sweep, stop_at, restart_after);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (!WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) < 0)
        return -1;
    return pid;
}

/* Continues until the next stop of that kind. Returns FALSE if the process has exited successfully.
 * */
static gboolean
continue_until_stop(pid_t pid, int request, int *signal_number)
{
    int status;

    g_assert_cmpint(ptrace(request, pid, NULL, (gpointer)(gintptr)*signal_number), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    *signal_number = 0;
    if (WIFEXITED(status)) {
        g_assert_cmpint(WEXITSTATUS(status), ==, EXIT_SUCCESS);
        return FALSE;
    }
    g_assert_true(WIFSTOPPED(status));
    if (WSTOPSIG(status) != SIGTRAP && WSTOPSIG(status) != (SIGTRAP | 0x80))
        *signal_number = WSTOPSIG(status);
    return TRUE;
}

static void
kill_it(pid_t pid)
{
    int status;

    kill(pid, SIGKILL);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status));
}

/* Kills at the `n`th stop at a system call. Returns FALSE if there were fewer. */
static gboolean
kill_at_call(Sweep *sweep, guint n, guint restart_after)
{
    pid_t pid = start(sweep, NEVER, restart_after);
    int signal_number = 0;

    for (guint i = 0; i < n;) {
        if (!continue_until_stop(pid, PTRACE_SYSCALL, &signal_number))
            return FALSE;
        if (signal_number == 0)
            i++;
    }
    kill_it(pid);
    return TRUE;
}

static void
report(Sweep *sweep, const char *what)
{
    sweep->n_tests++;
    printf("ok %u - %s: %u kills, %u times the last one, %u times the next\n", sweep->n_tests, what,
           sweep->n_kills, sweep->n_last, sweep->n_next);
    sweep->n_kills = sweep->n_last = sweep->n_next = 0;
}

/* All system calls: of the first start, of the commits, and of the start of a successor. */
static void
sweep_calls(Sweep *sweep, guint restart_after, const char *what)
{
    guint n = 1;

    for (; kill_at_call(sweep, n, restart_after); n++)
        check_killed(sweep, what, n);
    g_assert_cmpuint(n, >, 20);
    report(sweep, what);
}

/* The same for a process that must not have exited. */
static void
continue_running(pid_t pid, int request, int *signal_number)
{
    gboolean goes_on = continue_until_stop(pid, request, signal_number);

    g_assert_true(goes_on);
}

/* The number of instructions from before the commit of that turn until it is reported. */
static guint
count_instructions(Sweep *sweep, guint turn)
{
    pid_t pid = start(sweep, turn, N_TURNS);
    int signal_number = 0;
    guint n = 0;

    while (signal_number != SIGUSR1)
        continue_running(pid, PTRACE_CONT, &signal_number);
    signal_number = 0;
    while (sweep->progress->committed < turn) {
        continue_running(pid, PTRACE_SINGLESTEP, &signal_number);
        n++;
    }
    kill_it(pid);
    return n;
}

static void
kill_at_instruction(Sweep *sweep, guint turn, guint n)
{
    pid_t pid = start(sweep, turn, N_TURNS);
    int signal_number = 0;

    while (signal_number != SIGUSR1)
        continue_running(pid, PTRACE_CONT, &signal_number);
    signal_number = 0;
    for (guint i = 0; i < n; i++)
        continue_running(pid, PTRACE_SINGLESTEP, &signal_number);
    kill_it(pid);
    check_killed(sweep, "an instruction", n);
}

static void
sweep_instructions(Sweep *sweep, guint seconds)
{
    gint64 end_us = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
    guint longest = 0;

    for (guint i = 0; i < N_INSTRUCTIONS && g_get_monotonic_time() < end_us;) {
        guint turn = 1 + 10 * (guint)g_rand_int_range(sweep->rand, 0, 4); /* a small one */
        guint n = count_instructions(sweep, turn);

        longest = MAX(longest, n);
        for (guint k = 0; k < 5; k++, i++)
            kill_at_instruction(sweep, turn, (guint)g_rand_int_range(sweep->rand, 0, (gint32)n));
    }
    printf("# a commit took up to %u instructions\n", longest);
    report(sweep, "instructions of a commit");
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
        run_child(sweep, NEVER, N_TURNS);
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

    while (n_hits == 0 || (n_hits < N_INSTRUCTIONS && g_get_monotonic_time() < end_us)) {
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
    pid_t pid;

    printf("# WEBLOCKS_TEST_SEED=%u\n", sweep.seed);
    sweep.rand = g_rand_new_with_seed(sweep.seed);
    sweep.progress =
        mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(sweep.progress != MAP_FAILED);
    pid = start(&sweep, NEVER, N_TURNS);
    if (pid < 0) {
        printf("1..0 # SKIP no process may be traced here\n");
        return EXIT_SUCCESS;
    }
    kill_it(pid);
    rehearse(&sweep);
    sweep_calls(&sweep, N_TURNS, "system calls of commits");
    sweep_calls(&sweep, 3, "system calls of a beginning, and of the next");
    sweep_moments(&sweep, seconds);
    sweep_instructions(&sweep, seconds);
    printf("1..%u\n", sweep.n_tests);
    end(&sweep);
    return EXIT_SUCCESS;
}
