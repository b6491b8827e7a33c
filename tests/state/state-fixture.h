/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A World in a directory of its own, for one test case. At its end the case fails if there are
 * warnings that it has not checked. */

#pragma once

#include "tests/state/state-world.h"

#define FIXTURE_BUS 0xb5

typedef struct {
    char *directory;
    char *path; /* of the state file */
    World world;
} Fixture;

/* Returns the path of the file of the bus with this suffix, owned. */
char *fixture_path(const Fixture *fixture, const char *suffix);

/* Opens the world of FIXTURE_BUS, which is closed. */
void fixture_open(Fixture *fixture);

/* Closes the world and opens it again, as a restart of the service does. */
void fixture_reopen(Fixture *fixture);

/* Checks that the file has all agents and requests of the core, and reopens: the new core must have
 * them, too. */
void fixture_check_stored(Fixture *fixture);

/* Checks that exactly one warning was logged since the last call, and that it matches. */
void fixture_assert_warned(const char *pattern);

/* g_test_init(), and a log writer that stores warnings. */
void fixture_init(int *argc, char ***argv);

void fixture_set_up(Fixture *fixture, gconstpointer data);
void fixture_tear_down(Fixture *fixture, gconstpointer data);

#define STATE_TEST(path, function) \
    g_test_add(path, Fixture, NULL, fixture_set_up, function, fixture_tear_down)
