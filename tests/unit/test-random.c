/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Random operations on the core and on the model of lock-model.h, compared after each one: see
 * lock-world.h.
 *
 * Each world is a process, which aborts at the first difference. Its list of operations is then
 * reduced as long as it still aborts, and the rest is printed, with the seed:
 * WEBLOCKS_TEST_SEED=seed repeats it. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/case.h"
#include "tests/unit/core-fixture.h"
#include "tests/unit/lock-world.h"

/* Default values, also with WEBLOCKS_TEST_ALL and at full size (see tests/README.md);
 * WEBLOCKS_TEST_WORLDS sets another number of worlds. */
#define N_WORLDS      10
#define N_WORLDS_ALL  25
#define N_WORLDS_FULL 100
#define N_STEPS       10000 /* in each world */

/* The time limit for reducing the list of operations: it need not become minimal. */
#define SHRINK_SECS 90

/* The parent reduces the list; it needs the number of operations that each child completed. */
typedef struct {
    char *seed;
    LockWorldKind kind;
    GArray *operations; /* of LockOperation */
    guint *n_done;      /* shared with the children */
} Run;

static void
do_all(const Run *run, gboolean is_loud)
{
    LockWorld *world = lock_world_new(run->seed, run->kind, is_loud);

    for (guint i = 0; i < run->operations->len; i++) {
        *run->n_done = i;
        lock_world_do(world, &g_array_index(run->operations, LockOperation, i));
    }
    *run->n_done = run->operations->len;
    lock_world_free(world);
}

/* How much a child prints. */
typedef enum {
    PRINTS_NOTHING,
    PRINTS_DIFFERENCE,
    PRINTS_ALL,
} Verbosity;

static gboolean
passes(const Run *run, Verbosity verbosity)
{
    int status = 0;
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    g_assert(pid >= 0);
    if (pid == 0) {
        int null = verbosity == PRINTS_NOTHING ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

        if (null >= 0 && (dup2(null, STDERR_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0))
            _exit(EXIT_FAILURE);
        do_all(run, verbosity == PRINTS_ALL);
        exit(EXIT_SUCCESS);
    }
    while (waitpid(pid, &status, 0) < 0)
        g_assert(errno == EINTR);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

/* Removes `n` operations; restores them if the child then passes. */
static gboolean
try_without(Run *run, guint from, guint n)
{
    g_autoptr(GArray) before = g_array_copy(run->operations);

    g_array_remove_range(run->operations, from, n);
    if (!passes(run, PRINTS_NOTHING)) {
        /* Operations after the one that failed were never done. */
        g_array_set_size(run->operations, MIN(run->operations->len, *run->n_done + 1));
        return TRUE;
    }
    g_array_unref(run->operations);
    run->operations = g_steal_pointer(&before);
    return FALSE;
}

/* Removes ever smaller pieces, until no single operation can be removed. */
static void
shrink(Run *run)
{
    gint64 deadline_us = g_get_monotonic_time() + (gint64)SHRINK_SECS * G_USEC_PER_SEC;
    guint piece;

    g_array_set_size(run->operations, MIN(run->operations->len, *run->n_done + 1));
    piece = run->operations->len / 2;
    while (piece > 0 && g_get_monotonic_time() < deadline_us) {
        gboolean is_shorter = FALSE;

        for (guint from = 0; from + piece <= run->operations->len;) {
            if (g_get_monotonic_time() >= deadline_us)
                return;
            if (try_without(run, from, piece))
                is_shorter = TRUE;
            else
                from += piece;
        }
        if (!is_shorter || piece > run->operations->len)
            piece /= 2;
    }
}

static void
run_world(guint32 seed, guint number)
{
    Run run = {
        .seed = g_strdup_printf("WEBLOCKS_TEST_SEED=%u, world %u", seed, number),
        .kind = number % 3,
        .operations = g_array_sized_new(FALSE, FALSE, sizeof(LockOperation), N_STEPS),
        .n_done = mmap(NULL, sizeof *run.n_done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0),
    };
    GRand *rand = g_rand_new_with_seed(seed + number);
    gboolean is_good;

    g_assert(run.n_done != MAP_FAILED);
    for (guint i = 0; i < N_STEPS; i++) {
        guint32 low = g_rand_int(rand), high = g_rand_int(rand);
        const LockOperation operation = {
            .kind = (guint8)low,
            .agent = (guint8)(low >> 8),
            .place = (guint8)(low >> 16),
            .flags = (guint8)(low >> 24),
            .number = (guint8)high,
            .other = (guint8)(high >> 8),
        };

        g_array_append_val(run.operations, operation);
    }
    is_good = passes(&run, PRINTS_DIFFERENCE);
    if (!is_good) {
        shrink(&run);
        (void)passes(&run, PRINTS_ALL);
        g_error("%s: %u operations reproduce it, see above", run.seed, run.operations->len);
    }
    g_rand_free(rand);
    g_array_unref(run.operations);
    g_free(run.seed);
    munmap(run.n_done, sizeof *run.n_done);
}

TEST("/random/against-the-model", test_random)
{
    const char *worlds = g_getenv("WEBLOCKS_TEST_WORLDS");
    guint64 n_worlds = fixture_get_size(N_WORLDS, N_WORLDS_ALL, N_WORLDS_FULL);
    guint32 seed = fixture_get_seed();

    if (worlds != NULL)
        n_worlds = g_ascii_strtoull(worlds, NULL, 10);
    for (guint i = 0; i < n_worlds; i++)
        run_world(seed, i);
    g_test_message("%" G_GUINT64_FORMAT " steps, each compared", n_worlds * N_STEPS);
}

TEST_MAIN(g_test_run())
