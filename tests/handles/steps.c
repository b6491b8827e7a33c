/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/handles/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (256 * 1024)
#define STACKS_MAX  16
#define DEPTH_MAX   2048
#define MOVES_MAX   (STEP_ACTORS_MAX * STEP_ALTERNATIVES)
#define STATES_MAX  (1U << 25)

/* After that many runs their process ends, with the memory that they have left. */
#define RUNS_PER_PROCESS 1000

struct Actor {
    char name;
    ucontext_t context;
    void (*run)(gpointer data);
    gpointer data;
    gboolean has_ended, begins_again;
    Step next[STEP_ALTERNATIVES];
    guint n_next;
    guint chosen;
    Step end_step;
    gboolean (*end)(gpointer data); /* NULL: it can't be ended */
    guint64 has_read;
};

/* A set of moves: a bit for each alternative of each actor. */
typedef guint32 MoveSet;
G_STATIC_ASSERT(MOVES_MAX <= 32);

/* A state on the current path. */
typedef struct {
    guint32 reads[MOVES_MAX], writes[MOVES_MAX];
    MoveSet enabled;
    MoveSet asleep; /* all that follows these is in other runs */
    MoveSet left;   /* to be made from here */
    guint8 chosen;
} Node;

/* A state that was visited, and what was not made from there. */
typedef struct {
    guint64 hash; /* 0: none */
    guint64 asleep;
} State;

/* Of all processes. */
typedef struct {
    Node nodes[DEPTH_MAX];
    guint n_nodes;
    guint n_fixed; /* the choices that this run has to repeat */
    gboolean is_over, has_failed;
    StepsResult result;
    State states[STATES_MAX];
} Search;

static Search *search;
static Actor *actors[STEP_ACTORS_MAX];
static guint n_actors;
static Actor *current; /* NULL: none runs */
static ucontext_t scheduler;
static gpointer stacks[STACKS_MAX];
static guint n_stacks;
static guint n_taken;
static const char *names[DEPTH_MAX]; /* of the steps of this run */
static char whose[DEPTH_MAX];

/* ---- hashes */

guint64
steps_mix(guint64 hash, guint64 value)
{
    hash = (hash ^ value) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    hash *= G_GUINT64_CONSTANT(0xd6e8feb86659fd93);
    return hash ^ hash >> 29;
}

guint64
steps_mix_bytes(guint64 hash, gconstpointer bytes, gsize size)
{
    const guint8 *next = bytes;
    guint64 value = size;

    hash = steps_mix(hash, value);
    for (; size > 0; next += sizeof value, size -= MIN(size, sizeof value)) {
        value = 0;
        memcpy(&value, next, MIN(size, sizeof value));
        hash = steps_mix(hash, value);
    }
    return hash;
}

void
step_note(guint64 value)
{
    if (current != NULL)
        current->has_read = steps_mix(current->has_read, value);
}

void
step_note_bytes(gconstpointer bytes, gsize size)
{
    if (current != NULL)
        current->has_read = steps_mix_bytes(current->has_read, bytes, size);
}

void
step_forget_but(guint64 value)
{
    if (current != NULL)
        current->has_read = steps_mix((guchar)current->name, value);
}

/* ---- actors */

char
step_get_actor(void)
{
    if (current == NULL)
        return 0;
    return current->name;
}

gpointer
step_get_actor_data(void)
{
    return current != NULL ? current->data : NULL;
}

static void
start_actor(void)
{
    Actor *self = current;

    self->run(self->data);
    self->has_ended = TRUE;
    setcontext(&scheduler);
}

/* Runs the actor until its first step. */
static void
begin(Actor *self)
{
    g_assert(n_stacks < STACKS_MAX);
    if (stacks[n_stacks] == NULL)
        stacks[n_stacks] = g_malloc(STACK_BYTES);
    getcontext(&self->context);
    self->context.uc_stack.ss_sp = stacks[n_stacks++];
    self->context.uc_stack.ss_size = STACK_BYTES;
    self->context.uc_link = NULL;
    makecontext(&self->context, start_actor, 0);
    self->begins_again = FALSE;
    self->has_read = (guchar)self->name;
    current = self;
    swapcontext(&scheduler, &self->context);
    current = NULL;
}

Actor *
actor_new(char name, void (*run)(gpointer data), gpointer data)
{
    Actor *self = g_new0(Actor, 1);

    g_assert(n_actors < STEP_ACTORS_MAX);
    *self = (Actor){.name = name, .run = run, .data = data};
    actors[n_actors++] = self;
    begin(self);
    return self;
}

void
actor_set_end(Actor *actor, const Step *step, gboolean (*end)(gpointer data))
{
    actor->end_step = *step;
    actor->end = end;
    actor->next[actor->n_next++] = *step;
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
        self->begins_again = self->end(self->end_step.data);
        self->has_ended = !self->begins_again;
        setcontext(&scheduler);
    }
    step_note(self->chosen);
    return self->chosen;
}

void
step_before(guint32 reads, guint32 writes, const char *name)
{
    const Step step = {.reads = reads, .writes = writes, .name = name};

    step_choose(&step, 1);
}

/* ---- a run */

static guint
get_actor(guint move)
{
    return move / STEP_ALTERNATIVES;
}

static gboolean
are_dependent(const Node *node, guint a, guint b)
{
    return get_actor(a) == get_actor(b) ||
           (node->writes[a] & (node->reads[b] | node->writes[b])) != 0 ||
           (node->writes[b] & node->reads[a]) != 0;
}

static void
find_enabled(Node *node)
{
    node->enabled = 0;
    for (guint i = 0; i < n_actors; i++)
        for (guint j = 0; j < actors[i]->n_next && !actors[i]->has_ended; j++) {
            Step *step = &actors[i]->next[j];
            const guint move = i * STEP_ALTERNATIVES + j;

            if (step->prepare != NULL && !step->prepare(step))
                continue;
            node->enabled |= 1U << move;
            node->reads[move] = step->reads;
            node->writes[move] = step->writes;
        }
}

/* The moves that need not be made after `before` has been chosen. */
static MoveSet
get_asleep(const Node *before)
{
    MoveSet asleep = 0;

    for (guint i = 0; i < MOVES_MAX; i++)
        if ((before->asleep & 1U << i) && !are_dependent(before, i, before->chosen))
            asleep |= 1U << i;
    return asleep;
}

static guint64
get_hash(guint64 shared)
{
    guint64 hash = steps_mix(n_actors, shared);

    for (guint i = 0; i < n_actors; i++)
        hash = steps_mix(hash, actors[i]->has_ended ? 0 : actors[i]->has_read);
    return MAX(hash, 1);
}

/* Sets what is to be made from this state. Its sleep set becomes smaller at each visit. */
static void
visit(Node *node, guint64 hash)
{
    State *state = &search->states[hash % STATES_MAX];

    while (state->hash != 0 && state->hash != hash)
        state = state + 1 < search->states + STATES_MAX ? state + 1 : search->states;
    if (state->hash == hash) {
        node->left = node->enabled & (MoveSet)state->asleep & ~node->asleep;
        state->asleep &= node->asleep;
        return;
    }
    g_assert(search->result.n_states < STATES_MAX / 4 * 3);
    *state = (State){hash, node->asleep};
    search->result.n_states++;
    node->left = node->enabled & ~node->asleep;
}

static gboolean
choose(Node *node)
{
    if (node->left == 0)
        return FALSE;
    node->chosen = (guint8)__builtin_ctz(node->left);
    node->left &= ~(1U << node->chosen);
    return TRUE;
}

static void
make_step(const Node *node)
{
    Actor *actor = actors[get_actor(node->chosen)];

    actor->chosen = node->chosen % STEP_ALTERNATIVES;
    names[n_taken] = actor->next[actor->chosen].name;
    whose[n_taken] = actor->name;
    current = actor;
    swapcontext(&scheduler, &actor->context);
    current = NULL;
    search->result.n_steps++;
    if (actor->begins_again)
        begin(actor);
}

gboolean
steps_run(guint64 (*describe)(void))
{
    for (n_taken = 0;; n_taken++) {
        Node *node = &search->nodes[n_taken];

        g_assert(n_taken < DEPTH_MAX);
        if (n_taken >= search->n_fixed) {
            find_enabled(node);
            node->asleep = n_taken > 0 ? get_asleep(node - 1) : 0;
            visit(node, get_hash(describe()));
            search->n_nodes = n_taken;
            search->result.depth = MAX(search->result.depth, n_taken);
            if (node->enabled == 0)
                search->result.n_ends++;
            if (!choose(node))
                return node->enabled == 0;
            search->n_nodes = n_taken + 1;
        }
        make_step(node);
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

        node->asleep |= 1U << node->chosen;
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
    for (guint i = 0; i < n_actors; i++)
        g_free(actors[i]);
    n_actors = n_stacks = 0;
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

static guint64
get_processor_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (guint64)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * G_USEC_PER_SEC +
           (guint64)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

gboolean
steps_explore(void (*run)(gpointer data), gpointer data, guint64 max, StepsResult *result)
{
    const guint64 before_us = get_processor_us();
    gboolean is_fine = TRUE;

    search = mmap(NULL, sizeof *search, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
    result->processor_us = get_processor_us() - before_us;
    munmap(search, sizeof *search);
    return is_fine;
}
