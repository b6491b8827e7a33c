/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The files of a state: those of another bus or another boot, and those that are removed. The rest
 * is in tests/bus/test_state_places.py, with a service. */

#include <glib/gstdio.h>

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
    STATE_TEST("/state-files/another-bus-later", test_another_bus_later);
    STATE_TEST("/state-files/another-boot", test_another_boot);
    STATE_TEST("/state-files/removed", test_removed);
    return g_test_run();
}
