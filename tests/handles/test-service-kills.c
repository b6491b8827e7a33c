/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A service with cells is killed before and after every system call that can change a file, and
 * before every atomic instruction on a cell: while it opens and closes cells, commits, and
 * restores. The next one is killed in the same way while it restores, and the one after that has to
 * restore what the rules say. In TAP. With WEBLOCKS_TEST_ALL every pair of kills is tried,
 * otherwise one in 20. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "service/core/cell.h"
#include "service/core/principal.h"
#include "service/state/cell-pages.h"
#include "tests/handles/stepped-cell.h"
#include "tests/state/kill-at-call.h"
#include "tests/state/state-world.h"

#define BUS    0xb5
#define UID    1000
#define NAME   "n"
#define BUCKET "default"
#define CELL   1

/* System calls that change no file. getppid() stands for an instruction on a cell. */
static const guint64 harmless[] = {
    SYS_brk,     SYS_fcntl,      SYS_fstat,  SYS_futex,        SYS_geteuid, SYS_getrandom,
    SYS_lseek,   SYS_madvise,    SYS_mmap,   SYS_mprotect,     SYS_mremap,  SYS_munmap,
    SYS_pread64, SYS_newfstatat, SYS_read,   SYS_rt_sigaction, SYS_fstatfs, SYS_getdents64,
    SYS_close,   SYS_write,      SYS_gettid,
};

/* In shared memory. */
typedef struct {
    guint begun, told;  /* turns */
    guint64 last_token; /* of any grant or enter */
} Progress;

typedef struct {
    UserAgent user_agent;
    State *state;
    Agent *agents[3];
    CellPage *page;
} Service;

static char *directory;
static volatile Progress *progress;
static gboolean is_swept; /* in this process */

/* ---- hooks: see stepped-cell.c */

void
cell_step(const volatile void *address, gboolean writes)
{
    if (is_swept && (guintptr)address % LOCK_CELL_PAGE_SIZE / sizeof(LockCell) == CELL)
        syscall(SYS_getppid);
}

guint64
cell_note(guint64 value)
{
    return value;
}

void
cell_exchanged(const guint64 *word, guint64 value)
{
    progress->last_token = MAX(progress->last_token, value >> 2);
}

/* ---- a service */

static void
open_service(Service *self)
{
    g_autoptr(GError) error = NULL;
    StateOptions options = {.directory = directory, .offers_cells = TRUE};
    Restored restored = {0};

    *self = (Service){.page = NULL};
    memset(options.bus_id, BUS, sizeof options.bus_id);
    memset(options.boot_id, 1, sizeof options.boot_id);
    world_init_user_agent(&self->user_agent, WORLD_MONOTONIC_US, WORLD_REALTIME_US);
    self->state = state_open(&options, &error);
    g_assert_no_error(error);
    g_assert_nonnull(self->state);
    state_restore(self->state, &self->user_agent, &restored, &error);
    g_assert_no_error(error);
    for (guint i = 0; i < restored.agents->len; i++) {
        Agent *agent = restored.agents->pdata[i];

        self->agents[agent->client_id[3] - 'A'] = agent_ref(agent);
    }
    restored_clear(&restored);
    user_agent_process_all(&self->user_agent);
    effects_clear(&self->user_agent.effects);
    state_begin(self->state, &self->user_agent, &error);
    g_assert_no_error(error);
    state_end_recovery();
    self->user_agent.gives_cells = TRUE;
    /* Tokens are not ahead of the clock any more. */
    user_agent_set_time(&self->user_agent, WORLD_MONOTONIC_US, WORLD_REALTIME_US + TOKENS_AHEAD);
}

static void
close_service(Service *self)
{
    g_clear_pointer(&self->state, state_free);
    user_agent_shut_down(&self->user_agent);
    for (guint i = 0; i < G_N_ELEMENTS(self->agents); i++) {
        if (self->agents[i] != NULL)
            user_agent_lose(&self->user_agent, self->agents[i]);
        g_clear_pointer(&self->agents[i], agent_unref);
    }
    effects_clear(&self->user_agent.effects);
    user_agent_fini(&self->user_agent);
}

static Agent *
get_agent(Service *self, char letter)
{
    const PrincipalIdentity identity = {.uid = UID, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};
    const char client_id[] = {':', '1', '.', letter, '\0'};
    Agent **agent = &self->agents[letter - 'A'];

    if (*agent == NULL) {
        Principal *principal = principal_get(&self->user_agent, &identity);

        g_assert_cmpint(agent_new(principal, client_id, agent), ==, LOCK_RESULT_OK);
        principal_unref(principal);
    }
    return *agent;
}

static void
note_effects(Service *self)
{
    Effects *effects = &self->user_agent.effects;

    for (guint i = 0; i < effects_get_length(effects); i++)
        state_note_request(self->state, effects_get(effects, i)->request);
    effects_clear(effects);
}

static LockRequest *
request(Service *self, char letter, guint64 key, gboolean has_cell)
{
    const PrincipalIdentity identity = {.uid = UID, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};
    const LockOptions options = {
        .key = key, .why = "", .cell = has_cell ? &self->page->cells[CELL] : NULL};
    g_autoptr(LockManager) manager = user_agent_get_manager(&self->user_agent, &identity, BUCKET);
    LockRequest *made = NULL;

    state_reserve(self->state, lock_text_bytes(BUCKET, NAME, "", NULL));
    g_assert_cmpint(lock_manager_request(manager, get_agent(self, letter), NAME, &options, &made),
                    ==, LOCK_RESULT_OK);
    state_note_request(self->state, made);
    note_effects(self);
    return made;
}

static void
release(Service *self, char letter, guint64 key)
{
    Agent *agent = get_agent(self, letter);
    const LockRequest *lock = agent_find_key(agent, key);
    g_autoptr(LockManager) manager = NULL;

    g_assert_nonnull(lock);
    manager = lock_manager_ref(lock->queue->manager);
    g_assert_cmpint(lock_manager_release(manager, agent, lock->id), ==, LOCK_RESULT_OK);
    note_effects(self);
}

/* The socket of A has ended: as service/server/cell-offers.c. */
static void
end_page(Service *self)
{
    cells_close_of(get_agent(self, 'A'));
    note_effects(self);
    g_clear_pointer(&self->page, cell_page_free);
}

/* As service/server/scheduler. */
static void
end_turn(Service *self)
{
    progress->begun++;
    state_commit(self->state);
    cells_open(&self->user_agent);
    for (guint i = 0; i < 2; i++)
        for (const GList *link = self->agents[i] != NULL ? self->agents[i]->requests.head : NULL;
             link != NULL; link = link->next)
            progress->last_token =
                MAX(progress->last_token, ((const LockRequest *)link->data)->token);
    progress->told++;
    state_compact(self->state);
}

/* What is live after each turn; `*`: if the cell says so. */
static const char *const expected[] = {"", "A1*", "A1 B2", "B2", "A3*", "B4", "", "A5*", "A5", ""};

/* The client's instructions are made here too. */
static void
serve(Service *self)
{
    int fd;
    guint64 token;

    get_agent(self, 'A');
    get_agent(self, 'B');
    self->page = state_new_page(self->state, &fd);
    g_assert_nonnull(self->page);
    token = request(self, 'A', 1, TRUE)->token;
    end_turn(self);
    g_assert_true(lock_cell_leave(self->page->cells[CELL].memory, token));
    g_assert_true(lock_cell_enter(self->page->cells[CELL].memory, 1, &token));
    g_assert_cmpint(request(self, 'B', 2, FALSE)->state, ==, LOCK_REQUEST_PENDING);
    end_turn(self);
    release(self, 'A', 1);
    end_turn(self);
    release(self, 'B', 2);
    token = request(self, 'A', 3, TRUE)->token;
    end_turn(self);
    g_assert_true(lock_cell_leave(self->page->cells[CELL].memory, token));
    g_assert_cmpint(request(self, 'B', 4, FALSE)->state, ==, LOCK_REQUEST_HELD);
    end_turn(self);
    release(self, 'B', 4);
    end_turn(self);
    token = request(self, 'A', 5, TRUE)->token;
    end_turn(self);
    g_assert_true(lock_cell_leave(self->page->cells[CELL].memory, token));
    g_assert_true(lock_cell_enter(self->page->cells[CELL].memory, 5, &token));
    end_page(self);
    end_turn(self);
    release(self, 'A', 5);
    end_turn(self);
}

/* Whether it also serves. */
static void
run_child(gpointer data)
{
    Service service;

    is_swept = TRUE;
    open_service(&service);
    if (GPOINTER_TO_INT(data))
        serve(&service);
}

/* ---- killing */

/* Kills a service at its `n`th stop. Returns FALSE if it had fewer. */
static gboolean
kill_at(guint n, gboolean serves)
{
    const KillTarget target = {harmless, G_N_ELEMENTS(harmless), SYS_getppid, run_child,
                               GINT_TO_POINTER(serves)};
    const KillResult result = kill_at_call(&target, n);

    if (result == KILL_NOT_PERMITTED) {
        printf("1..0 # SKIP no process may be traced here\n");
        exit(EXIT_SUCCESS);
    }
    return result == KILL_DONE;
}

/* ---- what is found */

/* The page as the client has mapped it; NULL: there is none yet. */
static LockCell *
map_page(void)
{
    g_autofree char *path = world_path(directory, BUS, "cells");
    GDir *pages = g_dir_open(path, 0, NULL);
    const char *name = pages != NULL ? g_dir_read_name(pages) : NULL;
    LockCell *page = NULL;

    if (name != NULL) {
        g_autofree char *file = g_build_filename(path, name, NULL);
        GMappedFile *mapped = g_mapped_file_new(file, FALSE, NULL);

        if (mapped != NULL && g_mapped_file_get_length(mapped) == LOCK_CELL_PAGE_SIZE)
            page = (LockCell *)g_mapped_file_get_contents(mapped);
        /* cppcheck-suppress memleak ; the mapping stays: there are few */
    }
    if (pages != NULL)
        g_dir_close(pages);
    return page;
}

static char *
describe(Service *service)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < 2; i++)
        for (const GList *link = service->agents[i] != NULL ? service->agents[i]->requests.head
                                                            : NULL;
             link != NULL; link = link->next)
            g_string_append_printf(text, "%s%c%" G_GUINT64_FORMAT, text->len > 0 ? " " : "",
                                   'A' + i, ((const LockRequest *)link->data)->key);
    return g_string_free(text, FALSE);
}

/* Whether this is what the turn has left, with what the cell says. */
static gboolean
is_expected(const char *found, guint turn, const LockCell *cell)
{
    const char *pattern = expected[turn];
    const gsize length = strlen(pattern);

    if (length == 0 || pattern[length - 1] != '*')
        return g_str_equal(found, pattern);
    /* The keys of A are odd. Another request: the cell was not opened, and the lock is an ordinary
     * one. */
    if (cell != NULL && cell->request == (guint64)(pattern[1] - '0' + 1) / 2 &&
        !(cell->word & LOCK_CELL_HELD))
        return found[0] == '\0';
    return strlen(found) == length - 1 && strncmp(found, pattern, length - 1) == 0;
}

static G_NORETURN void
fail(guint n, guint m, const char *what, const char *found)
{
    printf("not ok - %s, killed at %u, then at %u: begun %u, told %u, found '%s'\n", what, n, m,
           progress->begun, progress->told, found);
    exit(EXIT_FAILURE);
}

static void
check(guint n, guint m, const LockCell *page)
{
    const LockCell *cell = page != NULL ? &page[CELL] : NULL;
    LockCell before = cell != NULL ? *cell : (LockCell){0};
    g_autofree char *found = NULL;
    Service service;

    open_service(&service);
    found = describe(&service);
    if (!is_expected(found, progress->told, cell != NULL ? &before : NULL) &&
        !is_expected(found, progress->begun, cell != NULL ? &before : NULL))
        fail(n, m, "another state", found);
    if (cell != NULL && (cell->word & LOCK_CELL_OPEN))
        fail(n, m, "a cell is open", found);
    if (map_page() != NULL)
        fail(n, m, "a page is left", found);
    /* Tokens are not issued again: of the lock, and of the next one in another bucket. */
    for (guint i = 0; i < 2; i++)
        for (const GList *link = service.agents[i] != NULL ? service.agents[i]->requests.head
                                                           : NULL;
             link != NULL; link = link->next) {
            const LockRequest *lock = link->data;

            if (lock->state == LOCK_REQUEST_HELD && lock->token < progress->last_token && m == 0 &&
                progress->begun == progress->told)
                fail(n, m, "an older token", found);
        }
    close_service(&service);
}

static void
begin(void)
{
    if (directory != NULL) {
        g_autofree char *pages = world_path(directory, BUS, "cells");

        rmdir(pages);
        world_remove_directory(directory);
        g_free(directory);
    }
    directory = world_new_directory();
    progress->begun = progress->told = 0;
    progress->last_token = 0;
}

/* Without a descriptor for a page nothing is restored, since its client can still enter: one of
 * this bus, or one of a bus whose service has ended. */
static void
check_shortage(void)
{
    g_autoptr(GError) error = NULL;
    StateOptions options = {.directory = directory, .offers_cells = TRUE};
    struct rlimit before, none;
    Restored restored = {0};
    UserAgent user_agent;
    State *state;
    int next;

    memset(options.bus_id, BUS, sizeof options.bus_id);
    memset(options.boot_id, 1, sizeof options.boot_id);
    world_init_user_agent(&user_agent, WORLD_MONOTONIC_US, WORLD_REALTIME_US);
    state = state_open(&options, &error);
    g_assert_no_error(error);
    next = dup(STDOUT_FILENO);
    close(next);
    g_assert_cmpint(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
    none = before;
    none.rlim_cur = (rlim_t)next + 1; /* for the directory */
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
    g_assert_false(state_restore(state, &user_agent, &restored, &error));
    g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_MFILE);
    g_assert_cmpint(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
    restored_clear(&restored);
    state_free(state);
    user_agent_fini(&user_agent);
}

int
main(int argc, char **argv)
{
    const guint every = g_getenv("WEBLOCKS_TEST_ALL") != NULL ? 1 : 20;
    g_autofree char *cells = NULL, *others = NULL;
    const LockCell *page;
    guint n_stops = 0, n_pairs = 0, n_of_restart = 0;

    progress =
        mmap(NULL, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    g_assert_true(progress != MAP_FAILED);
    for (guint n = 1;; n++) {
        begin();
        if (!kill_at(n, TRUE))
            break;
        check(n, 0, map_page());
        n_stops++;
    }
    printf("ok 1 - killed at each of %u places\n", n_stops);
    for (guint n = 1; n <= n_stops; n++)
        for (guint m = 1;; m++) {
            if ((n * 31 + m * 17) % every != 0 && m <= n_of_restart)
                continue;
            begin();
            kill_at(n, TRUE);
            page = map_page();
            if (!kill_at(m, FALSE))
                break;
            n_of_restart = MAX(n_of_restart, m);
            check(n, m, page);
            n_pairs++;
        }
    printf("ok 2 - and at %u pairs of places, the second while it restores\n", n_pairs);
    begin();
    g_assert_true(kill_at(60, TRUE));
    page = map_page();
    g_assert_nonnull(page);
    check_shortage();
    cells = world_path(directory, BUS, "cells");
    others = world_path(directory, BUS + 1, "cells");
    g_assert_cmpint(rename(cells, others), ==, 0);
    check_shortage();
    g_assert_cmpint(rename(others, cells), ==, 0);
    check(60, 0, page);
    printf("ok 3 - nothing is restored while a page can't be closed\n1..3\n");
    begin();
    world_remove_directory(directory);
    g_free(directory);
    return EXIT_SUCCESS;
}
