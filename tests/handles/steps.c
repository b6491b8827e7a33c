/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/handles/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/lock-cell.h"

#define STACK_BYTES (256 * 1024)
#define DEPTH_MAX   4096
#define ACTORS_MAX  8
#define MEMORY      1000 /* + the offset in a page */

/* After that many runs their process ends, with what they have left. */
#define RUNS_PER_PROCESS 400

struct Actor {
    char name;
    ucontext_t context;
    void (*run)(gpointer data);
    gpointer data;
    gboolean has_ended;
    Step next[STEP_ALTERNATIVES];
    guint n_next;
    guint chosen;
    Step end_step;
    void (*end)(gpointer data); /* NULL: it can't be ended */
};

/* A step as the search remembers it. */
typedef struct {
    guint8 actor, alternative;
    gboolean writes;
    guint64 object;
} Move;

#define MOVES_MAX (ACTORS_MAX * STEP_ALTERNATIVES)

/* A state on the current path. */
typedef struct {
    Move enabled[MOVES_MAX];
    guint8 n_enabled;
    Move asleep[MOVES_MAX]; /* by the runs before, or made here already */
    guint8 n_asleep;
    Move chosen;
} Node;

/* Of all processes. */
typedef struct {
    Node nodes[DEPTH_MAX];
    guint n_nodes;
    guint n_fixed; /* the choices that this run has to repeat */
    gboolean is_over, has_failed;
    StepsResult result;
} Search;

static Search *search;
static Actor *actors[ACTORS_MAX];
static guint n_actors;
static Actor *current; /* NULL: none runs */
static ucontext_t scheduler;
static guint n_taken;
static const char *names[DEPTH_MAX]; /* of the steps of this run */
static char whose[DEPTH_MAX];

/* ---- actors */

static void
start_actor(void)
{
    Actor *self = current;

    self->run(self->data);
    self->has_ended = TRUE;
    setcontext(&scheduler);
}

Actor *
actor_new(char name, void (*run)(gpointer data), gpointer data)
{
    Actor *self = g_new0(Actor, 1), *creator = current;
    ucontext_t before = scheduler;

    g_assert(n_actors < ACTORS_MAX);
    *self = (Actor){.name = name, .run = run, .data = data};
    getcontext(&self->context);
    self->context.uc_stack.ss_sp = g_malloc(STACK_BYTES);
    self->context.uc_stack.ss_size = STACK_BYTES;
    self->context.uc_link = NULL;
    makecontext(&self->context, start_actor, 0);
    actors[n_actors++] = self;
    /* Until its first step. */
    current = self;
    swapcontext(&scheduler, &self->context);
    current = creator;
    scheduler = before;
    return self;
}

void
actor_set_end(Actor *actor, const Step *step, void (*end)(gpointer data))
{
    actor->end_step = *step;
    actor->end = end;
}

guint
step_choose(const Step *steps, guint n)
{
    Actor *self = current;

    g_assert(n < STEP_ALTERNATIVES);
    if (self == NULL)
        return 0;
    memcpy(self->next, steps, n * sizeof *steps);
    self->n_next = n;
    if (self->end != NULL)
        self->next[self->n_next++] = self->end_step;
    swapcontext(&self->context, &scheduler);
    if (self->chosen == n) {
        self->end(self->end_step.data);
        self->has_ended = TRUE;
        setcontext(&scheduler);
    }
    return self->chosen;
}

void
step_before(guint64 object, gboolean writes, const char *name)
{
    const Step step = {.object = object, .writes = writes, .name = name};

    step_choose(&step, 1);
}

void
step_before_memory(const volatile void *address, gboolean writes)
{
    static const char *const texts[][2] = {
        {"reads word", "writes word"},
        {"reads key", "writes key"},
        {"reads last", "writes last"},
        {"reads since", "writes since"},
        {"reads since_token", "writes since_token"},
    };
    const guint offset = (guint)((guintptr)address % LOCK_CELL_PAGE_SIZE);

    /* Programs use one cell of each page. */
    if (offset / sizeof(LockCell) != 1)
        return;
    /* Which page it is isn't known: all are one. */
    step_before(MEMORY + offset, writes, texts[offset % sizeof(LockCell) / 8][writes]);
}

/* ---- a run */

static gboolean
are_dependent(const Move *a, const Move *b)
{
    if (a->actor == b->actor)
        return TRUE;
    if (a->object == STEP_KILL || b->object == STEP_KILL)
        return a->object < MEMORY && b->object < MEMORY && a->object != STEP_NOTHING &&
               b->object != STEP_NOTHING;
    return a->object == b->object && a->object != STEP_NOTHING && (a->writes || b->writes);
}

static gboolean
is_in(const Move *moves, guint n, const Move *move)
{
    for (guint i = 0; i < n; i++)
        if (moves[i].actor == move->actor && moves[i].alternative == move->alternative)
            return TRUE;
    return FALSE;
}

static void
find_enabled(Node *node)
{
    node->n_enabled = 0;
    for (guint i = 0; i < n_actors; i++)
        for (guint j = 0; j < actors[i]->n_next && !actors[i]->has_ended; j++) {
            const Step *step = &actors[i]->next[j];

            if (step->is_enabled == NULL || step->is_enabled(step->data))
                node->enabled[node->n_enabled++] =
                    (Move){(guint8)i, (guint8)j, step->writes, step->object};
        }
}

/* The moves that need not be made after `before` has been chosen. */
static void
put_to_sleep(Node *node, const Node *before)
{
    node->n_asleep = 0;
    for (guint i = 0; before != NULL && i < before->n_asleep; i++)
        if (!are_dependent(&before->asleep[i], &before->chosen))
            node->asleep[node->n_asleep++] = before->asleep[i];
}

/* Chooses a move that is not asleep. */
static gboolean
choose(Node *node)
{
    for (guint i = 0; i < node->n_enabled; i++)
        if (!is_in(node->asleep, node->n_asleep, &node->enabled[i])) {
            node->chosen = node->enabled[i];
            return TRUE;
        }
    return FALSE;
}

gboolean
steps_run(void)
{
    for (n_taken = 0;; n_taken++) {
        Node *node = &search->nodes[n_taken];

        g_assert(n_taken < DEPTH_MAX);
        if (n_taken >= search->n_fixed) {
            find_enabled(node);
            put_to_sleep(node, n_taken > 0 ? node - 1 : NULL);
            search->n_nodes = n_taken;
            if (node->n_enabled == 0)
                return TRUE;
            if (!choose(node)) {
                search->result.n_cut++;
                return FALSE;
            }
            search->n_nodes = n_taken + 1;
        }
        current = actors[node->chosen.actor];
        current->chosen = node->chosen.alternative;
        names[n_taken] = current->next[current->chosen].name;
        whose[n_taken] = current->name;
        swapcontext(&scheduler, &current->context);
        current = NULL;
        search->result.n_steps++;
    }
}

void
steps_fail(const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    for (guint i = 0; i <= n_taken && names[i] != NULL; i++)
        printf("# %3u %c %s\n", i, whose[i], names[i]);
    printf("# %s\n", text);
    fflush(stdout);
    search->has_failed = search->is_over = TRUE;
    _exit(EXIT_FAILURE);
}

/* ---- all runs */

/* Goes to the next order. Returns FALSE if there is none. */
static gboolean
go_back(void)
{
    while (search->n_nodes > 0) {
        Node *node = &search->nodes[search->n_nodes - 1];

        node->asleep[node->n_asleep++] = node->chosen;
        if (choose(node)) {
            search->n_fixed = search->n_nodes;
            return TRUE;
        }
        search->n_nodes--;
    }
    return FALSE;
}

static void
free_actors(void)
{
    for (guint i = 0; i < n_actors; i++) {
        g_free(actors[i]->context.uc_stack.ss_sp);
        g_free(actors[i]);
    }
    n_actors = 0;
    memset(names, 0, sizeof names);
}

static void
run_some(void (*run)(gpointer data), gpointer data, guint64 max)
{
    for (guint i = 0; i < RUNS_PER_PROCESS && !search->is_over; i++) {
        run(data);
        free_actors();
        search->result.n_runs++;
        if (!go_back())
            search->result.is_exhausted = search->is_over = TRUE;
        else if (search->result.n_runs == max)
            search->is_over = TRUE;
    }
}

gboolean
steps_explore(void (*run)(gpointer data), gpointer data, guint64 max, StepsResult *result)
{
    gboolean is_fine = TRUE;

    search = mmap(NULL, sizeof *search, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(search != MAP_FAILED);
    while (!search->is_over && is_fine) {
        pid_t pid;
        int status;

        fflush(stdout);
        pid = fork();
        g_assert_cmpint(pid, >=, 0);
        if (pid == 0) {
            run_some(run, data, max);
            _exit(EXIT_SUCCESS);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        is_fine = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
        if (!is_fine && !search->has_failed)
            printf("# it ended with status %#x after %u choices\n", (guint)status, search->n_nodes);
    }
    *result = search->result;
    munmap(search, sizeof *search);
    return is_fine;
}
