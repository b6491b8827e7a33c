/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The service, with its cells and its stored state, and two clients, with the library, in every
 * order of their steps (steps.h). The service may be killed before each of its steps, and client A
 * before each of its own. sim.h says what is real; reference.h, what all is compared with.
 *
 * Usage: test-interleavings [--runs N] [PROGRAM]...: at most N runs of each program (0: all). */

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weblocks/weblocks.h>

#include "service/state/cell-pages.h"
#include "tests/handles/client-bus.h"
#include "tests/handles/reference.h"
#include "tests/handles/service-sim.h"
#include "tests/handles/steps.h"
#include "tests/state/state-world.h"

#define NAME "n"

/* A program of a client is a list of these letters:
 * e l  enters and leaves its handle      R r  requests and releases the lock without a handle
 * S    as R, with steal                  A    as R, with ifAvailable; then r only if it was
 * H    as R, shared                           available
 * Q    looks at all locks                   c    handles what has arrived, and opens a socket again
 * h    finds that it holds its handle
 * What is before a bar is done before the steps begin. */
typedef struct {
    const char *name;
    const char *clients[SIM_CLIENTS];
    guint n_kills;       /* of the service */
    gboolean is_killed;  /* client A may be */
    guint last_tokens;   /* of a cell; 0: many */
    gboolean is_long;    /* only with WEBLOCKS_TEST_ALL */
    gboolean is_removed; /* the directory of the state is */
    gboolean is_first;   /* the first enter has the lock socket replaced by one with cells */
} Program;

static const Program programs[] = {
    {"request", {"elel", "Rr"}},
    {"handles", {"elel", "el"}},
    {"first-handle", {"el", "Rr"}, .is_first = TRUE},
    {"first-handles", {"el", "el|el"}, .is_long = TRUE, .is_first = TRUE},
    {"killed-service-and-first-handle",
     {"el", ""},
     .n_kills = 1,
     .is_long = TRUE,
     .is_first = TRUE},
    {"steal", {"elel", "Sr"}},
    {"steal-and-handle", {"elel", "Srel"}, .is_long = TRUE},
    {"available", {"elel", "Ar"}},
    {"shared", {"elel", "Hr"}},
    {"query", {"elel", "QQ"}},
    {"held", {"ehl", "Q"}},
    {"range", {"elelel", "Q"}, .last_tokens = 2},
    {"range-and-request", {"elelel", "Rr"}, .last_tokens = 2, .is_long = TRUE},
    {"killed-client", {"elel", "Rr"}, .is_killed = TRUE, .is_long = TRUE},
    {"killed-client-parked", {"el|el", "Rr"}, .is_killed = TRUE},
    {"killed-service", {"ecl", ""}, .n_kills = 1},
    {"removed-directory", {"el|e", ""}, .n_kills = 1, .is_long = TRUE, .is_removed = TRUE},
    {"removed-directory-and-request", {"el|e", "Ar"}, .is_long = TRUE, .is_removed = TRUE},
    {"removed-directory-and-leave", {"el|el", ""}, .is_long = TRUE, .is_removed = TRUE},
    {"killed-service-and-enter", {"elel", ""}, .n_kills = 1, .is_long = TRUE},
    {"killed-service-and-range", {"el|elel", ""}, .n_kills = 1, .last_tokens = 2, .is_long = TRUE},
    {"killed-service-and-request", {"el", "Rr"}, .n_kills = 1, .is_long = TRUE},
    {"killed-service-parked-and-request", {"el|el", "Rr"}, .n_kills = 1, .is_long = TRUE},
    {"killed-service-inside", {"el|ecl", "Rr"}, .n_kills = 1, .is_long = TRUE},
    {"killed-service-and-steal", {"el|el", "Sr"}, .n_kills = 1, .is_long = TRUE},
    {"killed-service-and-handles", {"el|el", "el"}, .n_kills = 1, .is_long = TRUE},
    {"killed-both", {"el|e", "A"}, .n_kills = 1, .is_killed = TRUE, .is_long = TRUE},
    {"killed-service-twice", {"el|el", ""}, .n_kills = 2, .is_long = TRUE},
};

typedef struct {
    guint index;
    const char *program;
    gboolean has_ended, is_killed;
    WebLocksManager *manager;
    WebLocksHandle *handle;
    WebLocksLock *lock;
    gboolean is_inside; /* it believes that it has the lock alone */
} TestClient;

static struct {
    const Program *program;
    TestClient clients[SIM_CLIENTS];
} t;

/* Of the state, within one that is there from the first run to the last. GLib makes names of the
 * microsecond and a counter, so another process that makes a directory could get the name of one
 * that was removed, before the service writes it again. */
static char *directory;

/* ---- a client */

/* What it believes is compared with what the other one does, not with the model. */
static void
begin_inside(TestClient *self)
{
    const TestClient *other = &t.clients[1 - self->index];

    self->is_inside = TRUE;
    if (other->is_inside && !other->is_killed && strchr(t.program->clients[1], 'S') == NULL)
        steps_fail("both clients have the lock");
}

static void
enter(TestClient *self)
{
    g_autoptr(GError) error = NULL;

    if (!web_locks_handle_enter_sync(self->handle, NULL, &error))
        steps_fail("client %u can't enter: %s", self->index, error->message);
    begin_inside(self);
}

static void
leave(TestClient *self)
{
    self->is_inside = FALSE;
    web_locks_handle_leave(self->handle);
}

static void
find_held(TestClient *self)
{
    if (!web_locks_handle_get_held(self->handle))
        steps_fail("client %u does not find that it holds its handle", self->index);
}

static void
request(TestClient *self, char letter)
{
    g_autoptr(WebLocksOptions) options = web_locks_options_new();
    g_autoptr(GError) error = NULL;

    web_locks_options_set_steal(options, letter == 'S');
    web_locks_options_set_if_available(options, letter == 'A');
    web_locks_options_set_mode(options,
                               letter == 'H' ? WEB_LOCKS_MODE_SHARED : WEB_LOCKS_MODE_EXCLUSIVE);
    self->lock = web_locks_manager_request_sync(self->manager, NAME, options, NULL, &error);
    if (error != NULL)
        steps_fail("client %u can't request: %s", self->index, error->message);
    if (self->lock == NULL && letter != 'A')
        steps_fail("client %u gets no lock", self->index);
    if (self->lock != NULL)
        begin_inside(self);
}

static void
release(TestClient *self)
{
    self->is_inside = FALSE;
    if (self->lock != NULL)
        web_locks_lock_release(self->lock);
    g_clear_object(&self->lock);
}

static gboolean
has_reply(Step *step)
{
    const TestClient *self = step->data;

    step->reads = sim_has_reply(self->index) ? 0 : OBJECT_BUS(self->index);
    return sim_has_reply(self->index);
}

/* Not by the library, which would only list the locks. */
static void
query(TestClient *self)
{
    const Step waits = {.name = "waits for a reply", .prepare = has_reply, .data = self};

    do {
        sim_call(self->index, BUS_CALL_QUERY);
        step_choose(&waits, 1);
    } while (sim_take_reply(self->index).is_unanswered);
}

static void
catch_up(TestClient *self)
{
    client_bus_catch_up(self->manager);
    if (!sim_is_calling(self->index))
        return;
    while (sim_is_calling(self->index))
        client_bus_wait(self->manager);
    client_bus_wait(self->manager); /* for the list of live requests */
}

static void
run_letters(TestClient *self, gsize n)
{
    for (; n > 0; n--, self->program++)
        if (*self->program == 'e')
            enter(self);
        else if (*self->program == 'l')
            leave(self);
        else if (*self->program == 'r')
            release(self);
        else if (*self->program == 'Q')
            query(self);
        else if (*self->program == 'c')
            catch_up(self);
        else if (*self->program == 'h')
            find_held(self);
        else if (*self->program != '|')
            request(self, *self->program);
}

static void
run_client(gpointer data)
{
    TestClient *self = data;

    run_letters(self, strlen(self->program));
    self->has_ended = TRUE;
    for (;;) /* its main loop */
        client_bus_wait(self->manager);
}

static gboolean
kill_client(gpointer data)
{
    TestClient *self = data;

    self->is_killed = TRUE;
    sim_lose_client(self->index);
    service_sim_leave_bus(self->index);
    return FALSE;
}

/* ---- runs */

/* It has connected before the steps begin. */
static void
init_client(guint index)
{
    const char address[] = {(char)('A' + index), '\0'};
    TestClient *self = &t.clients[index];
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(G_BUS_TYPE_NONE, address);
    g_autoptr(WebLocksLock) lock = NULL;
    g_autoptr(GError) error = NULL;
    const char *bar;

    *self = (TestClient){.index = index, .program = t.program->clients[index]};
    sim_let_begin(index);
    self->manager = web_locks_manager_new(agent, NULL);
    self->handle = web_locks_manager_prepare(self->manager, NAME, NULL);
    if (!t.program->is_first)
        client_bus_share_cells(self->manager);
    lock = web_locks_manager_request_sync(self->manager, "another", NULL, NULL, &error);
    g_assert_no_error(error);
    web_locks_lock_release(lock);
    service_sim_settle();
    client_bus_catch_up(self->manager);
    g_assert_cmpuint(sim_count_pages(index), ==, t.program->is_first ? 0 : 1);
    bar = strchr(self->program, '|');
    if (bar != NULL)
        run_letters(self, (gsize)(bar - self->program));
}

static void
remove_files(void)
{
    g_autofree char *cells = world_path(directory, 0xb5, "cells");

    cell_pages_remove(cells, NULL);
    if (g_file_test(directory, G_FILE_TEST_EXISTS))
        world_remove_directory(directory);
}

static void
run_remover(gpointer data)
{
    step_before(0, OBJECT_DISK, "removes the directory");
    remove_files();
    service_sim_lose_directory();
}

/* When no one has a step left, everyone has ended, and nothing is held but what is parked or was
 * not released. */
static void
check_end(void)
{
    guint n_inside = 0;

    for (guint i = 0; i < SIM_CLIENTS; i++) {
        const TestClient *client = &t.clients[i];

        if (!client->is_killed && !client->has_ended)
            steps_fail("client %u waits for ever", i);
        n_inside += !client->is_killed && client->is_inside ? 1 : 0;
    }
    service_sim_check();
    if (reference_count() != n_inside)
        steps_fail("%u locks are held at the end, %u clients believe that they have one",
                   reference_count(), n_inside);
}

static guint64
describe(void)
{
    guint64 hash = steps_mix(sim_describe(), service_sim_describe());

    for (guint i = 0; i < SIM_CLIENTS; i++)
        hash = steps_mix(hash, (guint64)t.clients[i].is_killed);
    return steps_mix(hash, reference_describe());
}

static void
run_once(gpointer data)
{
    const Step killed = {.writes = OBJECT_TO_SERVICE(0) | OBJECT_TO_CLIENT(0) | OBJECT_BUS(0),
                         .name = "is killed"};
    g_autoptr(GMainContext) context = g_main_context_new(); /* of the clients; it never runs */

    memset(&t, 0, sizeof t);
    t.program = data;
    g_main_context_push_thread_default(context);
    sim_begin(service_sim_settle);
    reference_begin();
    service_sim_begin(directory, t.program->last_tokens);
    for (guint i = 0; i < SIM_CLIENTS; i++)
        init_client(i);
    service_sim_run(t.program->n_kills);
    for (guint i = 0; i < SIM_CLIENTS; i++) {
        Actor *actor = actor_new((char)('A' + i), run_client, &t.clients[i]);
        Step end = killed;

        end.data = &t.clients[i];
        if (i == 0 && t.program->is_killed)
            actor_set_end(actor, &end, kill_client);
    }
    if (t.program->is_removed)
        actor_new('E', run_remover, NULL);
    if (steps_run(describe))
        check_end();
    reference_end();
    service_sim_end();
    g_main_context_pop_thread_default(context);
    sim_end();
    remove_files();
}

static gboolean
run_program(const Program *program, guint number, guint64 max)
{
    StepsResult result;
    gboolean is_fine = steps_explore(run_once, (gpointer)program, max, &result);

    printf("%s %u - %s: %" G_GUINT64_FORMAT " states%s, %" G_GUINT64_FORMAT
           " runs, %" G_GUINT64_FORMAT " to the end, depth %u, %" G_GUINT64_FORMAT
           " steps, %.1f s\n",
           is_fine ? "ok" : "not ok", number, program->name, result.n_states,
           result.is_exhausted ? "" : ", not all", result.n_runs, result.n_ends, result.depth,
           result.n_steps, (double)result.processor_us / G_USEC_PER_SEC);
    remove_files(); /* of a run that has failed */
    return is_fine;
}

static gboolean
is_chosen(const Program *program, char **names)
{
    if (names[0] == NULL)
        return !program->is_long || g_getenv("WEBLOCKS_TEST_ALL") != NULL;
    return g_strv_contains((const char *const *)names, program->name);
}

int
main(int argc, char **argv)
{
    g_autofree char *base = world_new_directory();
    guint64 max = 0;
    guint n = 0;
    int status = EXIT_SUCCESS;

    directory = g_build_filename(base, "state", NULL);
    world_capture_warnings(); /* that files were removed */
    /* Freed memory stays in the process: to get it again takes a tenth of the time. */
    mallopt(M_MMAP_THRESHOLD, 1 << 26);
    mallopt(M_TRIM_THRESHOLD, 1 << 28);
    if (argc > 2 && g_str_equal(argv[1], "--runs")) {
        max = g_ascii_strtoull(argv[2], NULL, 10);
        argc -= 2;
        argv += 2;
    }
    for (guint i = 0; i < G_N_ELEMENTS(programs); i++)
        if (is_chosen(&programs[i], argv + 1) && !run_program(&programs[i], ++n, max))
            status = EXIT_FAILURE;
    printf("1..%u\n", n);
    world_remove_directory(base);
    g_free(directory);
    return status;
}
