/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A process enters and leaves a cell, and is killed or stopped after every instruction of both.
 * Then the real core serves another client's request: a lock that was held stays held, one that was
 * parked is over, and a process that goes on changes nothing any more. Usage: test-client-steps, in
 * TAP. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/lock-cell.h"
#include "service/core/cell.h"
#include "tests/unit/core-fixture.h"

#define NAME        "n"
#define KEY_A       7
#define KEY_B       8
#define STEPS_MAX   5000
#define TOKEN_SHIFT 2

/* Written by the process that is stepped. */
typedef struct {
    guint phase; /* 1: about to enter; 2: has tried to; 3: has tried to leave */
    gboolean has_entered, has_left;
    guint64 token;
} Progress;

typedef struct {
    LockCell *page;
    volatile Progress *progress;
    CoreFixture core;
    Cell cell;
    guint64 first;                  /* the token of the request */
    guint n_parked, n_held, n_left; /* how often the word was so: before, between, after both */
} Stepping;

static G_NORETURN void
enter_and_leave(const Stepping *self)
{
    volatile Progress *progress = self->progress;
    guint64 token = 0;

    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(EXIT_FAILURE);
    raise(SIGSTOP);
    progress->phase = 1;
    progress->has_entered = lock_cell_enter(self->cell.memory, KEY_A, &token);
    progress->token = token;
    progress->phase = 2;
    progress->has_left = lock_cell_leave(self->cell.memory, token);
    progress->phase = 3;
    _exit(EXIT_SUCCESS);
}

/* The lock is parked. */
static void
set_up(Stepping *self)
{
    const LockOptions options = {.key = KEY_A, .why = "", .cell = &self->cell};
    LockManager *manager;
    LockRequest *request;

    *self->progress = (Progress){0};
    self->page[1] = (LockCell){0};
    self->cell = (Cell){.memory = &self->page[1]};
    fixture_set_up(&self->core, NULL);
    self->core.user_agent.gives_cells = TRUE;
    manager = fixture_manager(&self->core, 'A', FIXTURE_BUCKET);
    g_assert_cmpint(
        lock_manager_request(manager, fixture_agent(&self->core, 'A'), NAME, &options, &request),
        ==, LOCK_RESULT_OK);
    lock_manager_unref(manager);
    g_assert_true(lock_request_get_cell(request) == &self->cell);
    self->first = request->token;
    cells_open(&self->core.user_agent);
    g_assert_true(lock_cell_leave(self->cell.memory, self->first));
    effects_clear(&self->core.user_agent.effects);
}

/* Returns the process after `n` instructions, or 0 if it has tried to leave by then. */
static pid_t
start_and_step(const Stepping *self, guint n)
{
    pid_t pid = fork();
    int status;

    g_assert_cmpint(pid, >=, 0);
    if (pid == 0)
        enter_and_leave(self);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (!WIFSTOPPED(status)) {
        printf("1..0 # SKIP no process may be traced here\n");
        exit(EXIT_SUCCESS);
    }
    ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
    for (guint i = 0; i < n && self->progress->phase < 3; i++) {
        g_assert_cmpint(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), ==, 0);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(WIFSTOPPED(status));
    }
    return pid;
}

/* Another client requests the lock. `word` is what was in the cell. */
static void
check_request(Stepping *self, guint64 word)
{
    const LockOptions options = {.key = KEY_B, .why = ""};
    const gboolean was_held = (word & LOCK_CELL_HELD) != 0;
    LockManager *manager = fixture_manager(&self->core, 'B', FIXTURE_BUCKET);
    const Agent *a = fixture_agent(&self->core, 'A');
    const LockRequest *lock;
    LockRequest *request;

    fixture_advance_us(&self->core, 1000000);
    g_assert_cmpint(
        lock_manager_request(manager, fixture_agent(&self->core, 'B'), NAME, &options, &request),
        ==, LOCK_RESULT_OK);
    lock = agent_find_key(a, KEY_A);
    g_assert_cmpuint(self->page[1].word, ==, word & ~(guint64)LOCK_CELL_OPEN);
    g_assert_cmpint(request->state, ==, was_held ? LOCK_REQUEST_PENDING : LOCK_REQUEST_HELD);
    g_assert_cmpint(lock != NULL, ==, was_held);
    if (was_held) {
        g_assert_cmpuint(lock->token, ==, self->first + 1);
        g_assert_cmpint(lock->since_us, <=, self->core.user_agent.now_us);
        g_assert_cmpint(lock->since_us, >=, FIXTURE_MONOTONIC_US);
        g_assert_cmpint(lock_manager_release(manager, fixture_agent(&self->core, 'A'), lock->id),
                        ==, LOCK_RESULT_OK);
    }
    g_assert_cmpint(request->state, ==, LOCK_REQUEST_HELD);
    g_assert_cmpuint(request->token, >, word >> TOKEN_SHIFT);
    lock_manager_unref(manager);
}

/* What the process finds that was stopped while the cell was closed. */
static void
check_result(const Stepping *self, guint64 word)
{
    const volatile Progress *progress = self->progress;
    const guint64 token = word >> TOKEN_SHIFT;
    const gboolean was_held = (word & LOCK_CELL_HELD) != 0;

    g_assert_cmpuint(self->page[1].word, ==, word & ~(guint64)LOCK_CELL_OPEN);
    g_assert_cmpint(progress->has_entered, ==, token > self->first);
    g_assert_cmpint(progress->has_left, ==, token > self->first && !was_held);
}

/* Returns FALSE if the process has tried to leave before. */
static gboolean
try(Stepping *self, guint n, gboolean is_killed)
{
    guint64 word;
    gboolean goes_on;
    int status;
    pid_t pid;

    set_up(self);
    pid = start_and_step(self, n);
    goes_on = self->progress->phase < 3;
    word = self->page[1].word;
    self->n_parked += word >> TOKEN_SHIFT == self->first;
    self->n_held += (word & LOCK_CELL_HELD) != 0;
    self->n_left += word >> TOKEN_SHIFT > self->first && !(word & LOCK_CELL_HELD);
    if (is_killed)
        kill(pid, SIGKILL);
    check_request(self, word);
    if (!is_killed)
        g_assert_cmpint(ptrace(PTRACE_CONT, pid, NULL, NULL), ==, 0);
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    if (!is_killed) {
        g_assert_true(WIFEXITED(status));
        check_result(self, word);
    }
    fixture_tear_down(&self->core, NULL);
    return goes_on;
}

static void
sweep(Stepping *self, guint number, gboolean is_killed)
{
    guint n = 0;

    self->n_parked = self->n_held = self->n_left = 0;
    while (try(self, n, is_killed))
        g_assert_cmpuint(++n, <, STEPS_MAX);
    g_assert_cmpuint(self->n_parked, >, 0);
    g_assert_cmpuint(self->n_held, >, 0);
    g_assert_cmpuint(self->n_left, >, 0);
    printf("ok %u - %s after each of %u instructions: parked at %u, held at %u, left at %u\n",
           number, is_killed ? "killed" : "stopped", n, self->n_parked, self->n_held, self->n_left);
    fflush(stdout);
}

/* Otherwise most instructions would be those of the dynamic linker. */
static void
bind_symbols(void)
{
    LockCell cell = {0};
    guint64 token;

    lock_cell_open(&cell, KEY_A, 1, 2);
    g_assert_true(lock_cell_leave(&cell, 1) && lock_cell_enter(&cell, KEY_A, &token));
}

int
main(int argc, char **argv)
{
    Stepping self = {0};

    self.page =
        mmap(NULL, LOCK_CELL_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    self.progress =
        mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(self.page != MAP_FAILED && self.progress != MAP_FAILED);
    bind_symbols();
    sweep(&self, 1, TRUE);
    sweep(&self, 2, FALSE);
    printf("1..2\n");
    return EXIT_SUCCESS;
}
