/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a state: those of another bus, another boot or with damage, those that an
 * interrupted start leaves; the lock; permissions. */

#include <glib/gstdio.h>
#include <sys/stat.h>

#include "tests/state/state-fixture.h"

static void
check_starts_empty(Fixture *fixture, guint8 bus, guint8 boot)
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
    /* Both at the same time; then with the file of this bus in place of the other's own. */
    check_starts_empty(fixture, 7, 1);
    fixture_check_stored(fixture);
    world_close(&fixture->world);
    g_assert_cmpint(g_rename(fixture->path, other_path), ==, 0);
    check_starts_empty(fixture, 7, 1);
    fixture_assert_warned("*another bus*aside*");
    fixture_open(fixture);
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 0);
}

static void
test_another_bus_later(Fixture *fixture, gconstpointer data)
{
    world_request(&fixture->world, 'A', "x", "");
    world_close(&fixture->world);
    check_starts_empty(fixture, 7, 1);
    fixture_open(fixture);
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 1);
}

static void
test_another_boot(Fixture *fixture, gconstpointer data)
{
    g_autofree char *aside = fixture_path(fixture, "state.aside");

    world_request(&fixture->world, 'A', "x", "");
    world_close(&fixture->world);
    check_starts_empty(fixture, FIXTURE_BUS, 2);
    fixture_assert_warned("*boot*aside*");
    g_assert_true(g_file_test(aside, G_FILE_TEST_EXISTS));
    fixture_open(fixture);
    fixture_assert_warned("*boot*aside*");
}

/* The renamed file has the contents that could not be used. */
static void
test_garbage(Fixture *fixture, gconstpointer data)
{
    g_autofree char *aside = fixture_path(fixture, "state.aside");

    for (guint i = 0; i < 3; i++) {
        g_autofree char *garbage = g_strdup_printf("garbage %u", i);
        g_autofree char *found = NULL;

        world_close(&fixture->world);
        g_assert_true(g_file_set_contents(fixture->path, garbage, -1, NULL));
        fixture_open(fixture);
        fixture_assert_warned("*damaged*aside*");
        g_assert_true(g_file_get_contents(aside, &found, NULL, NULL));
        g_assert_cmpstr(found, ==, garbage);
        world_request(&fixture->world, 'A', "x", "");
        world_commit(&fixture->world);
        fixture_check_stored(fixture);
    }
}

static void
test_one_writer(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;

    g_assert_null(state_open(&fixture->world.options, &error));
    g_assert_no_error(error);
    check_starts_empty(fixture, 7, 1);
    g_assert_null(state_open(&fixture->world.options, &error));
    g_assert_no_error(error);
    fixture_reopen(fixture);
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
    g_autofree char *lock = fixture_path(fixture, "lock");
    g_autofree char *below = g_build_filename(fixture->directory, "a", NULL);
    g_autofree char *deep = g_build_filename(below, "b", NULL);
    g_autofree char *deep_lock = world_path(deep, 9, "lock");
    g_autofree char *deep_state = world_path(deep, 9, "state");
    g_autofree char *deep_spare = world_path(deep, 9, "state.new");
    mode_t old = umask(0);
    World other;

    fixture_reopen(fixture);
    world_open(&other, deep, 9);
    g_assert_cmpuint(get_mode(lock), ==, 0600);
    g_assert_cmpuint(get_mode(fixture->path), ==, 0600);
    g_assert_cmpuint(get_mode(deep), ==, 0700);
    g_assert_cmpuint(get_mode(deep_state), ==, 0600);
    g_assert_cmpuint(get_mode(deep_spare), ==, 0600);
    world_close(&other);
    umask(old);
    g_remove(deep_lock);
    g_remove(deep_state);
    g_remove(deep_spare);
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
test_left_by_an_interrupted_start(Fixture *fixture, gconstpointer data)
{
    g_autofree char *new_path = fixture_path(fixture, "state.new");
    g_autofree char *guard = fixture_path(fixture, "crash-guard");

    world_request(&fixture->world, 'A', "x", "");
    world_commit(&fixture->world);
    world_close(&fixture->world);
    g_assert_true(g_file_set_contents(new_path, "garbage", -1, NULL));
    g_assert_true(g_file_set_contents(guard, "garbage", -1, NULL));
    fixture_open(fixture);
    g_assert_false(g_file_test(guard, G_FILE_TEST_EXISTS));
    g_assert_cmpuint(user_agent_get_n_requests(&fixture->world.user_agent), ==, 1);
}

static gboolean
set_flag(gpointer data)
{
    *(gboolean *)data = TRUE;
    return G_SOURCE_REMOVE;
}

/* All files are removed while the state is open: it writes them again. */
static void
test_removed(Fixture *fixture, gconstpointer data)
{
    static const char *const suffixes[] = {"state", "state.new", "lock"};
    gboolean is_late = FALSE;
    guint id;

    world_request(&fixture->world, 'A', "x", "");
    world_commit(&fixture->world);
    for (guint i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        g_autofree char *path = fixture_path(fixture, suffixes[i]);

        g_assert_cmpint(g_remove(path), ==, 0);
    }
    world_request(&fixture->world, 'B', "x", "");
    world_commit(&fixture->world);
    id = g_timeout_add_seconds(5, set_flag, &is_late);
    while (!is_late && !g_file_test(fixture->path, G_FILE_TEST_EXISTS))
        g_main_context_iteration(NULL, TRUE);
    g_assert_false(is_late);
    g_source_remove(id);
    fixture_assert_warned("*were removed*");
    world_request(&fixture->world, 'C', "x", "");
    world_commit(&fixture->world);
    fixture_check_stored(fixture);
}

int
main(int argc, char **argv)
{
    fixture_init(&argc, &argv);
    STATE_TEST("/state-files/another-bus", test_another_bus);
    STATE_TEST("/state-files/another-bus-later", test_another_bus_later);
    STATE_TEST("/state-files/another-boot", test_another_boot);
    STATE_TEST("/state-files/garbage", test_garbage);
    STATE_TEST("/state-files/one-writer", test_one_writer);
    STATE_TEST("/state-files/modes", test_modes);
    STATE_TEST("/state-files/no-directory", test_no_directory);
    STATE_TEST("/state-files/removed", test_removed);
    STATE_TEST("/state-files/left-by-an-interrupted-start", test_left_by_an_interrupted_start);
    return g_test_run();
}
