/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A state whose file can't grow: requests that don't fit are refused, everything else is committed.
 * */

#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/state/state-fixture.h"

/* Exit status: all operations are in the file, but no request was refused. */
#define UNREFUSED 2

#define ROUNDS_MAX 12

/* With a limit that an administrator has raised. */
#define WHY_BYTES 65536

static gboolean
has_room_for(World *world, gsize n_bytes, guint *n_refused)
{
    gboolean has_room;

    state_reserve(world->state, n_bytes);
    has_room = n_bytes <= world->user_agent.room_bytes;
    *n_refused += !has_room;
    return has_room;
}

/* Names, buckets and `why` of all lengths, so that pages are filled in many ways. */
static void
do_something_if_there_is_room(World *world, GRand *rand, guint *n_refused)
{
    char letter = (char)('A' + g_rand_int_range(rand, 0, WORLD_AGENTS));
    Agent *agent = world->agents[letter - 'A'];
    LockRequest *request = NULL;
    gsize length = (gsize)(g_rand_boolean(rand) ? 1024 : g_rand_int_range(rand, 0, 1025));
    g_autofree char *name = g_strnfill(length, (char)g_rand_int_range(rand, 'a', 'z'));
    g_autofree char *bucket = g_strnfill((gsize)g_rand_int_range(rand, 1, 256), 'b');
    g_autofree char *why = g_strnfill((gsize)g_rand_int_range(rand, 0, WHY_BYTES + 1), 'w');
    g_autofree char *options = g_strdup_printf("shared bucket=%s why=%s", bucket, why);
    gboolean grows =
        user_agent_get_n_requests(&world->user_agent) < 50 || g_rand_int_range(rand, 0, 100) < 51;

    if (agent != NULL && agent->requests.length > 0)
        request = g_queue_peek_nth(
            &agent->requests, (guint)g_rand_int_range(rand, 0, (gint32)agent->requests.length));
    if (agent != NULL && g_rand_int_range(rand, 0, 3000) == 0) {
        world_terminate(world, letter);
    } else if ((request == NULL || grows) &&
               has_room_for(world, lock_text_bytes(bucket, name, why, NULL), n_refused)) {
        world_request(world, letter, name, options);
    } else if (request != NULL && request->state == LOCK_REQUEST_HELD) {
        world_release(world, letter, request->id);
    } else if (request != NULL) {
        world_abort(world, letter, request->id);
    }
}

/* Runs in a child process, whose files can't grow. state_commit() ends it if a commit fails. */
static G_NORETURN void
run_without_room(Fixture *fixture, guint32 seed)
{
    struct rlimit limit = {0};
    GRand *rand = g_rand_new_with_seed(seed);
    struct stat status;
    guint n_refused = 0;

    fixture_open(fixture);
    fixture->world.user_agent.limits.max[LIMIT_WHY_BYTES] = WHY_BYTES;
    fixture->world.user_agent.limits.max[LIMIT_TEXT_BYTES_PER_APP] = 1 << 30;
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
test_file_cannot_grow(Fixture *fixture, gconstpointer data)
{
    const guint n_rounds = g_getenv("WEBLOCKS_TEST_ALL") != NULL ? ROUNDS_MAX : 4;
    guint n_full = 0;

    world_close(&fixture->world);
    for (guint i = 0; i < n_rounds || (n_full == 0 && i < ROUNDS_MAX); i++) {
        guint32 seed = (guint32)g_test_rand_int();
        pid_t pid = fork();
        int status;

        g_assert_cmpint(pid, >=, 0);
        if (pid == 0)
            run_without_room(fixture, seed);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != UNREFUSED))
            g_error("seed %u: status %x", seed, (guint)status);
        n_full += WEXITSTATUS(status) == 0;
        g_assert_cmpint(g_remove(fixture->path), ==, 0);
    }
    g_assert_cmpuint(n_full, >, 0);
    fixture_open(fixture);
}

int
main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    STATE_TEST("/state-room/file-cannot-grow", test_file_cannot_grow);
    return g_test_run();
}
