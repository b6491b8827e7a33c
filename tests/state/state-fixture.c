/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/state/state-fixture.h"

static GPtrArray *warnings; /* of char * */

char *
fixture_path(const Fixture *fixture, const char *suffix)
{
    return world_path(fixture->directory, FIXTURE_BUS, suffix);
}

void
fixture_assert_warned(const char *pattern)
{
    g_assert_cmpuint(warnings->len, ==, 1);
    if (!g_pattern_match_simple(pattern, warnings->pdata[0]))
        g_assert_cmpstr(warnings->pdata[0], ==, pattern);
    g_ptr_array_set_size(warnings, 0);
}

void
fixture_open(Fixture *fixture)
{
    world_open(&fixture->world, fixture->directory, FIXTURE_BUS);
}

void
fixture_reopen(Fixture *fixture)
{
    world_close(&fixture->world);
    fixture_open(fixture);
}

void
fixture_set_up(Fixture *fixture, gconstpointer data)
{
    fixture->directory = world_new_directory();
    fixture->path = fixture_path(fixture, "state");
    fixture_open(fixture);
}

void
fixture_tear_down(Fixture *fixture, gconstpointer data)
{
    world_close(&fixture->world);
    world_remove_directory(fixture->directory);
    g_free(fixture->directory);
    g_free(fixture->path);
    g_assert_cmpuint(warnings->len, ==, 0);
}

void
fixture_check_stored(Fixture *fixture)
{
    g_autofree char *before = world_describe(&fixture->world);
    g_autofree char *file = world_describe_file(fixture->path);
    g_autofree char *after = NULL;

    g_assert_cmpstr(file, ==, before);
    fixture_reopen(fixture);
    after = world_describe(&fixture->world);
    g_assert_cmpstr(after, ==, before);
}

void
fixture_init(int *argc, char ***argv)
{
    g_test_init(argc, argv, NULL);
    warnings = world_capture_warnings();
}
