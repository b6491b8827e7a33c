/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* state/state: what was committed is there again, in the next service, as it was. What
 * contradicts itself is in test-contradictions.c. */

#include "service/state/state.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/state/crash-guard.h"
#include "service/state/store.h"
#include "tests/state/state-world.h"

#define BUS 0xb5

/* An exit status: all was well, and there was room for all of it. */
#define UNREFUSED 2

/* What the service would have said. */
static GPtrArray *warnings;

typedef struct {
    char *directory;
    char *path;
    World world;
} Fixture;

/* One line, and that. */
static void
assert_warned(const char *pattern)
{
    g_assert_cmpuint(warnings->len, ==, 1);
    if (!g_pattern_match_simple(pattern, warnings->pdata[0]))
        g_assert_cmpstr(warnings->pdata[0], ==, pattern);
    g_ptr_array_set_size(warnings, 0);
}

static void
open_world(Fixture *fixture)
{
    world_open(&fixture->world, fixture->directory, BUS);
}

static void
reopen(Fixture *fixture)
{
    world_close(&fixture->world);
    open_world(fixture);
}

static void
set_up(Fixture *fixture, gconstpointer data)
{
    fixture->directory = world_new_directory();
    fixture->path = world_path(fixture->directory, BUS, "state");
    open_world(fixture);
}

static void
tear_down(Fixture *fixture, gconstpointer data)
{
    world_close(&fixture->world);
    world_remove_directory(fixture->directory);
    g_free(fixture->directory);
    g_free(fixture->path);
    g_assert_cmpuint(warnings->len, ==, 0);
}

/* The file has what the core has; and so has the next core. */
static void
check_kept(Fixture *fixture)
{
    g_autofree char *before = world_describe(&fixture->world);
    g_autofree char *file = world_describe_file(fixture->path);
    g_autofree char *after = NULL;

    g_assert_cmpstr(file, ==, before);
    reopen(fixture);
    after = world_describe(&fixture->world);
    g_assert_cmpstr(after, ==, before);
}

static gboolean
has_file(const Fixture *fixture, const char *suffix)
{
    g_autofree char *path = world_path(fixture->directory, BUS, suffix);

    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static StateContents *
read_file(const Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    StateContents *contents = reader_read(fixture->path, &error);

    g_assert_no_error(error);
    return contents;
}

/* ---- what is there */

static void
test_as_it_was(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 id;

    check_kept(fixture);
    world_request(world, 'A', "x", "key=7 why=report");
    world_request(world, 'B', "x", "shared timeout=5000");
    world_request(world, 'A', "x", "shared bucket=other");
    world_request(world, 'E', "x", "");
    world_request(world, 'F', "", "key=7");
    id = world_request(world, 'C', "y", "shared");
    world_commit(world);
    check_kept(fixture);
    world_request(world, 'D', "y", "shared");
    world_release(world, 'C', id);
    world_request(world, 'D', "x", "steal");
    world_commit(world);
    check_kept(fixture);
    world_terminate(world, 'B');
    world_terminate(world, 'A');
    world_commit(world);
    check_kept(fixture);
}

/* Several that are granted in one turn, and end in the next. */
static void
test_grants(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 held = world_request(world, 'A', "x", "");

    world_request(world, 'B', "x", "shared");
    world_request(world, 'C', "x", "shared");
    world_request(world, 'D', "x", "");
    world_commit(world);
    check_kept(fixture);
    world_release(world, 'A', held);
    world_commit(world);
    check_kept(fixture);
    world_abort(world, 'D', 1);
    world_release(world, 'C', 1);
    world_release(world, 'B', 1);
    world_commit(world);
    check_kept(fixture);
    g_assert_cmpuint(user_agent_get_n_requests(&world->user_agent), ==, 0);
}

/* One who is behind in the order of agents is before them in the queue. */
static void
test_order(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 a, b, c, held;

    world_request(world, 'A', "z", "");
    world_request(world, 'B', "z", "");
    held = world_request(world, 'D', "x", "");
    c = world_request(world, 'C', "x", "");
    b = world_request(world, 'B', "x", "");
    world_request(world, 'B', "gone", "");
    a = world_request(world, 'A', "x", "");
    world_abort(world, 'B', b);
    b = world_request(world, 'B', "x", "");
    world_commit(world);
    reopen(fixture);
    world_release(world, 'D', held);
    g_assert_cmpint(world_find(world, 'C', c)->state, ==, LOCK_REQUEST_HELD);
    world_release(world, 'C', c);
    g_assert_cmpint(world_find(world, 'A', a)->state, ==, LOCK_REQUEST_HELD);
    world_commit(world);
    check_kept(fixture);
    world_release(world, 'A', a);
    g_assert_cmpint(world_find(world, 'B', b)->state, ==, LOCK_REQUEST_HELD);
}

static guint64
count_records(const Fixture *fixture)
{
    g_autoptr(StateContents) contents = read_file(fixture);

    g_assert_cmpuint(contents->records->len, ==, contents->header.n_records);
    return contents->header.n_records;
}

/* An agent stays until it is gone, since its ids go on. */
static void
test_who_is_there(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 id = world_request(world, 'A', "x", "");

    world_request(world, 'B', "y", "");
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 4);
    world_release(world, 'A', id);
    world_terminate(world, 'B');
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 1);
    reopen(fixture);
    world_terminate(world, 'A');
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 0);
}

/* ---- turns */

/* What comes and goes in one turn is never written. */
static void
test_one_turn(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    g_autofree char *before = NULL;
    g_autofree char *after = NULL;
    gsize n_before, n_after;
    guint64 id;

    id = world_request(world, 'A', "x", "");
    world_commit(world);
    g_assert_true(g_file_get_contents(fixture->path, &before, &n_before, NULL));
    for (guint i = 0; i < 100; i++)
        world_release(world, 'A', world_request(world, 'A', "y", ""));
    world_commit(world);
    world_commit(world);
    g_assert_true(g_file_get_contents(fixture->path, &after, &n_after, NULL));
    g_assert_cmpmem(after, n_after, before, n_before);
    world_release(world, 'A', id);
    world_commit(world);
    check_kept(fixture);
}

/* An agent that comes and goes in one turn, with what it had. */
static void
test_a_whole_life_in_one_turn(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;

    world_request(world, 'A', "x", "");
    world_request(world, 'B', "x", "");
    world_terminate(world, 'A');
    world_commit(world);
    g_assert_cmpuint(count_records(fixture), ==, 2);
    check_kept(fixture);
}

/* In a process of its own, which is then killed. */
static void
run_and_die(Fixture *fixture, void (*function)(World *world))
{
    pid_t pid;
    int status;

    world_close(&fixture->world);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        open_world(fixture);
        function(&fixture->world);
        raise(SIGKILL);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    open_world(fixture);
}

static void
commit_one_of_two(World *world)
{
    world_request(world, 'A', "x", "");
    world_commit(world);
    world_release(world, 'A', 1);
    world_request(world, 'B', "y", "");
}

/* What was noted and not committed was not said either. */
static void
test_killed_before_the_commit(Fixture *fixture, gconstpointer data)
{
    run_and_die(fixture, commit_one_of_two);
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 1);
    g_assert_cmpint(world_find(&fixture->world, 'A', 1)->state, ==, LOCK_REQUEST_HELD);
    check_kept(fixture);
}

static void
do_nothing(World *world)
{
}

static void
test_killed_at_once(Fixture *fixture, gconstpointer data)
{
    world_request(&fixture->world, 'A', "x", "");
    world_request(&fixture->world, 'B', "x", "");
    world_commit(&fixture->world);
    for (guint i = 0; i < 5; i++) {
        run_and_die(fixture, do_nothing);
        check_kept(fixture);
    }
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 2);
}

/* ---- ids and tokens */

static void
test_ids_grow(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 last = 0;

    for (guint round = 0; round < 10; round++) {
        for (guint i = 0; i < round * 70; i++) {
            guint64 id = world_request(world, 'A', "x", "");

            g_assert_cmpuint(id, >, last);
            last = id;
            world_release(world, 'A', id);
            if (i % 7 == 0)
                world_commit(world);
        }
        reopen(fixture);
    }
}

static guint64
take_token(World *world, const char *options)
{
    guint64 id = world_request(world, 'A', "x", options);
    guint64 token = world_find(world, 'A', id)->token;

    g_assert_cmpuint(token, !=, 0);
    world_release(world, 'A', id);
    world_commit(world);
    return token;
}

/* Also if the clock was set back, of buckets that are there and of those that are not, and however
 * many were given. */
static void
test_tokens_grow(Fixture *fixture, gconstpointer data)
{
    static const guint counts[] = {1, 2, 70000, 1};
    World *world = &fixture->world;
    guint64 last = 0;

    for (guint round = 0; round < G_N_ELEMENTS(counts); round++) {
        guint64 token;

        for (guint i = 0; i < counts[round]; i++) {
            token = take_token(world, "");
            g_assert_cmpuint(token, >, last);
            last = token;
        }
        token = take_token(world, "bucket=other");
        g_assert_cmpuint(token, >, last);
        last = token;
        world_close(world);
        world_open_at(world, fixture->directory, BUS, 1, WORLD_MONOTONIC_US,
                      WORLD_REALTIME_US - (gint64)(round + 1) * G_USEC_PER_SEC * 86400);
    }
    g_assert_cmpuint(take_token(world, ""), >, last);
}

/* With a lock that is kept meanwhile, whose token is its own. */
static void
test_tokens_grow_in_use(Fixture *fixture, gconstpointer data)
{
    World *world = &fixture->world;
    guint64 kept = world_request(world, 'B', "kept", "");
    guint64 token = world_find(world, 'B', kept)->token;
    guint64 last = token;

    for (guint round = 0; round < 4; round++) {
        guint64 next = take_token(world, "");

        g_assert_cmpuint(next, >, last);
        last = next;
        world_close(world);
        world_open_at(world, fixture->directory, BUS, 1, WORLD_MONOTONIC_US, 1000);
        g_assert_cmpuint(world_find(world, 'B', kept)->token, ==, token);
    }
}

/* ---- whose it is */

static void
check_nothing_of_it(Fixture *fixture, guint8 bus, guint8 boot)
{
    World other;

    world_open_at(&other, fixture->directory, bus, boot, WORLD_MONOTONIC_US, WORLD_REALTIME_US);
    g_assert_cmpuint(user_agent_get_n_requests(&other.user_agent), ==, 0);
    g_assert_cmpuint(other.user_agent.agents.length, ==, 0);
    world_request(&other, 'C', "x", "");
    world_close(&other);
}

static void
test_another_bus(Fixture *fixture, gconstpointer data)
{
    g_autofree char *other_path = world_path(fixture->directory, 7, "state");

    world_request(&fixture->world, 'A', "x", "");
    world_commit(&fixture->world);
    /* At the same time, and with this one's file in its own's place. */
    check_nothing_of_it(fixture, 7, 1);
    check_kept(fixture);
    world_close(&fixture->world);
    g_assert_cmpint(g_rename(fixture->path, other_path), ==, 0);
    check_nothing_of_it(fixture, 7, 1);
    assert_warned("*another bus*aside*");
    open_world(fixture);
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 0);
}

static void
test_another_bus_later(Fixture *fixture, gconstpointer data)
{
    world_request(&fixture->world, 'A', "x", "");
    world_close(&fixture->world);
    check_nothing_of_it(fixture, 7, 1);
    open_world(fixture);
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 1);
}

static void
test_another_boot(Fixture *fixture, gconstpointer data)
{
    world_request(&fixture->world, 'A', "x", "");
    world_close(&fixture->world);
    check_nothing_of_it(fixture, BUS, 2);
    assert_warned("*boot*aside*");
    g_assert_true(has_file(fixture, "state.aside"));
    open_world(fixture);
    assert_warned("*boot*aside*");
}

/* What is aside is what was there. */
static void
test_garbage(Fixture *fixture, gconstpointer data)
{
    g_autofree char *aside = world_path(fixture->directory, BUS, "state.aside");

    for (guint i = 0; i < 3; i++) {
        g_autofree char *garbage = g_strdup_printf("garbage %u", i);
        g_autofree char *found = NULL;

        world_close(&fixture->world);
        g_assert_true(g_file_set_contents(fixture->path, garbage, -1, NULL));
        open_world(fixture);
        assert_warned("*damaged*aside*");
        g_assert_true(g_file_get_contents(aside, &found, NULL, NULL));
        g_assert_cmpstr(found, ==, garbage);
        world_request(&fixture->world, 'A', "x", "");
        world_commit(&fixture->world);
        check_kept(fixture);
    }
}

static void
test_one_writer(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(state_open(&fixture->world.options, &error));
    g_assert_no_error(error);
    check_nothing_of_it(fixture, 7, 1);
    g_assert_null(state_open(&fixture->world.options, &error));
    g_assert_no_error(error);
    reopen(fixture);
}

static guint
get_mode(const char *path)
{
    struct stat status;

    g_assert_cmpint(stat(path, &status), ==, 0);
    return status.st_mode & 07777;
}

static void
test_modes(Fixture *fixture, gconstpointer data)
{
    g_autofree char *lock = world_path(fixture->directory, BUS, "lock");
    g_autofree char *below = g_build_filename(fixture->directory, "a", NULL);
    g_autofree char *deep = g_build_filename(below, "b", NULL);
    g_autofree char *deep_lock = world_path(deep, 9, "lock");
    g_autofree char *deep_state = world_path(deep, 9, "state");
    mode_t old = umask(0);
    World other;

    reopen(fixture);
    world_open(&other, deep, 9);
    g_assert_cmpuint(get_mode(lock), ==, 0600);
    g_assert_cmpuint(get_mode(fixture->path), ==, 0600);
    g_assert_cmpuint(get_mode(deep), ==, 0700);
    g_assert_cmpuint(get_mode(deep_state), ==, 0600);
    world_close(&other);
    umask(old);
    g_remove(deep_lock);
    g_remove(deep_state);
    g_rmdir(deep);
    g_rmdir(below);
}

static void
test_no_directory(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    World other;

    g_assert_false(world_try_open(&other, fixture->path, 9, 1, 1, 1, &error));
    g_assert_nonnull(error);
}

static void
test_left_by_an_interrupted_beginning(Fixture *fixture, gconstpointer data)
{
    g_autofree char *new_path = world_path(fixture->directory, BUS, "state.new");
    g_autofree char *marks = world_path(fixture->directory, BUS, "crash-guard");

    world_request(&fixture->world, 'A', "x", "");
    world_commit(&fixture->world);
    world_close(&fixture->world);
    g_assert_true(g_file_set_contents(new_path, "garbage", -1, NULL));
    g_assert_true(g_file_set_contents(marks, "garbage", -1, NULL));
    open_world(fixture);
    g_assert_false(g_file_test(new_path, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(marks, G_FILE_TEST_EXISTS));
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 1);
}

/* The clock of the next one may be behind, as in another time namespace: a time in the future is
 * the time of the start. */
static void
test_clock_behind(Fixture *fixture, gconstpointer data)
{
    static const gint64 now_us = 1234567;
    guint64 held, waiting, endless;
    const LockRequest *request;

    held = world_request(&fixture->world, 'A', "x", "");
    waiting = world_request(&fixture->world, 'B', "x", "timeout=3000");
    endless = world_request(&fixture->world, 'C', "x", "");
    world_commit(&fixture->world);
    world_close(&fixture->world);
    world_open_at(&fixture->world, fixture->directory, BUS, 1, now_us, WORLD_REALTIME_US);
    g_assert_cmpint(world_find(&fixture->world, 'A', held)->since_us, ==, now_us);
    request = world_find(&fixture->world, 'B', waiting);
    g_assert_cmpint(request->since_us, ==, now_us);
    g_assert_cmpint(request->deadline_ms, ==, 1235 + 3000);
    g_assert_cmpint(world_find(&fixture->world, 'C', endless)->deadline_ms, ==, 0);
    user_agent_set_time(&fixture->world.user_agent, (1235 + 2999) * 1000, WORLD_REALTIME_US);
    user_agent_expire(&fixture->world.user_agent);
    g_assert_cmpint(request->state, ==, LOCK_REQUEST_PENDING);
    user_agent_set_time(&fixture->world.user_agent, (1235 + 3000) * 1000, WORLD_REALTIME_US);
    user_agent_expire(&fixture->world.user_agent);
    g_assert_null(agent_find_request(world_agent(&fixture->world, 'B'), waiting));
}

/* And what was waited for counts, if it is not. */
static void
test_clock_ahead(Fixture *fixture, gconstpointer data)
{
    guint64 waiting;
    gint64 since_us, deadline_ms;

    world_request(&fixture->world, 'A', "x", "");
    waiting = world_request(&fixture->world, 'B', "x", "timeout=3000");
    since_us = world_find(&fixture->world, 'B', waiting)->since_us;
    deadline_ms = world_find(&fixture->world, 'B', waiting)->deadline_ms;
    world_commit(&fixture->world);
    world_close(&fixture->world);
    world_open_at(&fixture->world, fixture->directory, BUS, 1, WORLD_MONOTONIC_US + 2000000,
                  WORLD_REALTIME_US);
    g_assert_cmpint(world_find(&fixture->world, 'B', waiting)->since_us, ==, since_us);
    g_assert_cmpint(world_find(&fixture->world, 'B', waiting)->deadline_ms, ==, deadline_ms);
}

/* ---- crash-guard.c */

/* A process restores a record and dies of it. */
static gboolean
restore_once(const char *path, guint64 agent, guint64 id, gint64 now_us)
{
    CrashGuard guard;
    gboolean skips;

    crash_guard_begin(&guard, path, now_us);
    g_assert_false(crash_guard_skips(&guard, agent, id + 1));
    skips = crash_guard_skips(&guard, agent, id);
    if (skips)
        g_assert_false(crash_guard_skips(&guard, agent, id + 2));
    close(guard.fd);
    g_free(guard.path);
    return skips;
}

static void
test_three_deaths(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path = g_build_filename(fixture->directory, "marks", NULL);
    const gint64 second = G_USEC_PER_SEC;

    for (guint i = 0; i < 3; i++)
        g_assert_false(restore_once(path, 5, 6, 100 * second + i));
    g_assert_true(restore_once(path, 5, 6, 105 * second));
    g_remove(path);
    /* Not within ten seconds. */
    for (guint i = 0; i < 8; i++)
        g_assert_false(restore_once(path, 5, 6, (100 + 6 * i) * second));
    g_remove(path);
    /* Not of the same record, or of one of another agent. */
    for (guint i = 0; i < 8; i++)
        g_assert_false(restore_once(path, 5 + i % 2, 6, 100 * second + i));
    g_remove(path);
    for (guint i = 0; i < 8; i++)
        g_assert_false(restore_once(path, 5, 6 + 4 * (i % 2), 100 * second + i));
    g_remove(path);
    /* A clock that is before the marks is that of another boot. */
    for (guint i = 0; i < 8; i++)
        g_assert_false(restore_once(path, 5, 6, (100 - 20 * i) * second));
    g_remove(path);
}

static void
test_restored_well(Fixture *fixture, gconstpointer data)
{
    g_autofree char *path = g_build_filename(fixture->directory, "marks", NULL);
    CrashGuard guard;

    g_assert_false(restore_once(path, 5, 6, 1));
    g_assert_false(restore_once(path, 5, 6, 2));
    crash_guard_begin(&guard, path, 3);
    g_assert_false(crash_guard_skips(&guard, 5, 6));
    crash_guard_end(&guard);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_false(restore_once(path, 5, 6, 4));
    g_remove(path);
}

/* It does what it can. */
static void
test_marks_nowhere(Fixture *fixture, gconstpointer data)
{
    for (guint i = 0; i < 5; i++) {
        CrashGuard guard;

        crash_guard_begin(&guard, "/nowhere/marks", i);
        g_assert_false(crash_guard_skips(&guard, 5, 6));
        crash_guard_end(&guard);
    }
}

/* ---- anything */

/* ---- no room */

static gboolean
has_room_for(World *world, gsize n_bytes)
{
    world->user_agent.is_full = !state_has_room(world->state, n_bytes);
    return !world->user_agent.is_full;
}

/* With names of all lengths, so that pages are used in all ways. */
static void
do_something_if_there_is_room(World *world, GRand *rand, guint *n_refused)
{
    char letter = (char)('A' + g_rand_int_range(rand, 0, WORLD_AGENTS));
    Agent *agent = world->agents[letter - 'A'];
    LockRequest *request = NULL;
    gsize length = (gsize)(g_rand_boolean(rand) ? 1024 : g_rand_int_range(rand, 0, 1025));
    g_autofree char *name = g_strnfill(length, (char)g_rand_int_range(rand, 'a', 'z'));
    gboolean grows =
        user_agent_get_n_requests(&world->user_agent) < 50 || g_rand_int_range(rand, 0, 100) < 51;

    if (agent != NULL && agent->requests.length > 0)
        request = g_queue_peek_nth(
            &agent->requests, (guint)g_rand_int_range(rand, 0, (gint32)agent->requests.length));
    if (agent != NULL && g_rand_int_range(rand, 0, 3000) == 0) {
        world_terminate(world, letter);
    } else if ((request == NULL || grows) && has_room_for(world, length)) {
        world_request(world, letter, name, "shared");
    } else if (request != NULL && request->state == LOCK_REQUEST_HELD) {
        *n_refused += world->user_agent.is_full;
        world_release(world, letter, request->id);
    } else if (request != NULL) {
        world_abort(world, letter, request->id);
    }
}

/* In a process of its own, whose files can't grow: it ends if a commit fails. */
static G_NORETURN void
live_without_room(Fixture *fixture, guint32 seed)
{
    struct rlimit limit = {0};
    GRand *rand = g_rand_new_with_seed(seed);
    struct stat status;
    guint n_refused = 0;

    open_world(fixture);
    g_assert_cmpint(stat(fixture->path, &status), ==, 0);
    limit.rlim_cur = limit.rlim_max =
        (rlim_t)status.st_size + (rlim_t)g_rand_int_range(rand, 0, 1 << 19);
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    for (gint32 i = 0; i < 6000; i++) {
        do_something_if_there_is_room(&fixture->world, rand, &n_refused);
        if (g_rand_int_range(rand, 0, 1 + (i / 1000) * 4) == 0)
            world_commit(&fixture->world);
    }
    world_commit(&fixture->world);
    {
        g_autofree char *expected = world_describe(&fixture->world);
        g_autofree char *found = world_describe_file(fixture->path);

        _exit(!g_str_equal(found, expected) ? EXIT_FAILURE : n_refused == 0 ? UNREFUSED : 0);
    }
}

static void
test_no_room(Fixture *fixture, gconstpointer data)
{
    guint n_full = 0;

    world_close(&fixture->world);
    for (guint i = 0; i < 12; i++) {
        guint32 seed = (guint32)g_test_rand_int();
        pid_t pid = fork();
        int status;

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
            live_without_room(fixture, seed);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != UNREFUSED))
            g_error("seed %u: status %x", seed, (guint)status);
        n_full += WEXITSTATUS(status) == 0;
        g_assert_cmpint(g_remove(fixture->path), ==, 0);
    }
    g_assert_cmpuint(n_full, >, 0);
    open_world(fixture);
}

static void
test_random(Fixture *fixture, gconstpointer data)
{
    guint32 seed = (guint32)g_test_rand_int();
    GRand *rand = g_rand_new_with_seed(seed);

    g_test_message("seed %u", seed);
    for (guint i = 0; i < 6000; i++) {
        world_do_something(&fixture->world, rand);
        if (g_rand_int_range(rand, 0, 4) == 0)
            world_commit(&fixture->world);
        if (g_rand_int_range(rand, 0, 100) == 0) {
            world_commit(&fixture->world);
            check_kept(fixture);
        }
    }
    g_rand_free(rand);
}

#define STATE_TEST(path, function) g_test_add(path, Fixture, NULL, set_up, function, tear_down)

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    warnings = world_keep_warnings();
    STATE_TEST("/state/as-it-was", test_as_it_was);
    STATE_TEST("/state/grants", test_grants);
    STATE_TEST("/state/order", test_order);
    STATE_TEST("/state/who-is-there", test_who_is_there);
    STATE_TEST("/state/one-turn", test_one_turn);
    STATE_TEST("/state/a-whole-life-in-one-turn", test_a_whole_life_in_one_turn);
    STATE_TEST("/state/killed-before-the-commit", test_killed_before_the_commit);
    STATE_TEST("/state/killed-at-once", test_killed_at_once);
    STATE_TEST("/state/ids-grow", test_ids_grow);
    STATE_TEST("/state/tokens-grow", test_tokens_grow);
    STATE_TEST("/state/tokens-grow-in-use", test_tokens_grow_in_use);
    STATE_TEST("/state/another-bus", test_another_bus);
    STATE_TEST("/state/later/another-bus", test_another_bus_later);
    STATE_TEST("/state/another-boot", test_another_boot);
    STATE_TEST("/state/garbage", test_garbage);
    STATE_TEST("/state/one-writer", test_one_writer);
    STATE_TEST("/state/modes", test_modes);
    STATE_TEST("/state/no-directory", test_no_directory);
    STATE_TEST("/state/left-by-an-interrupted-beginning", test_left_by_an_interrupted_beginning);
    STATE_TEST("/state/crash-guard/three-deaths", test_three_deaths);
    STATE_TEST("/state/crash-guard/restored-well", test_restored_well);
    STATE_TEST("/state/crash-guard/marks-nowhere", test_marks_nowhere);
    STATE_TEST("/state/clock/behind", test_clock_behind);
    STATE_TEST("/state/clock/ahead", test_clock_ahead);
    STATE_TEST("/state/no-room", test_no_room);
    STATE_TEST("/state/random", test_random);
    return g_test_run();
}
