/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A core and its store without a bus, for the tests of service/state.
 *
 * Agents are named by letters: `A` is the client ":1.A". A to D have one principal, E is a
 * sandboxed application of the same user, F is another user. Each operation records its changes as
 * the service does; nothing is written before world_commit(). */

#pragma once

#include <glib.h>

#include "service/core/lock-manager.h"
#include "service/core/user-agent.h"
#include "service/state/state.h"

#define WORLD_AGENTS       6
#define WORLD_REALTIME_US  G_GINT64_CONSTANT(1700000000000000)
#define WORLD_MONOTONIC_US G_GINT64_CONSTANT(5000000)

typedef struct {
    StateOptions options;
    UserAgent user_agent;
    State *state;
    Agent *agents[WORLD_AGENTS]; /* NULL: no agent */
    gint64 deadline_us;          /* of a cluster's lease, as it was restored */
} World;

/* Create a directory, whose path is owned, and remove it with its contents. */
char *world_new_directory(void);
void world_remove_directory(const char *directory);

/* "DIRECTORY/BUS.SUFFIX", owned. */
char *world_path(const char *directory, guint8 bus, const char *suffix);

/* From now on warnings are not printed, but appended to the returned array, which must not be
 * freed. May be called once in a program. */
GPtrArray *world_capture_warnings(void);

/* An empty core with that time. */
void world_init_user_agent(UserAgent *user_agent, gint64 monotonic_us, gint64 realtime_us);

/* Acts as a service that starts: opens and restores the state of the bus of that number, and starts
 * the next one. The clock stands still at its first value; the second function has the given clocks
 * and boot. */
void world_open(World *world, const char *directory, guint8 bus);
void world_open_at(World *world,
                   const char *directory,
                   guint8 bus,
                   guint8 boot,
                   gint64 monotonic_us,
                   gint64 realtime_us);

/* Commits the recorded changes and closes the state. Agents that end afterwards remain in the file.
 * */
void world_close(World *world);

/* Created if it doesn't exist. */
Agent *world_agent(World *world, char letter);

/* `options` are words as in tests/unit/core-fixture.h: "shared", "slots=N", "steal", "timeout=MS",
 * "key=N", "why=TEXT", "bucket=NAME"; outside sandboxes "user:documents" is "documents". Returns
 * the id. */
guint64 world_request(World *world, char letter, const char *name, const char *options);
LockRequest *world_find(World *world, char letter, guint64 id);
void world_release(World *world, char letter, guint64 id);
LockResult world_downgrade(World *world, char letter, guint64 id);
void world_abort(World *world, char letter, guint64 id);
void world_terminate(World *world, char letter);
/* A random one of these operations. */
void world_do_something(World *world, GRand *rand);

/* Of an operation on the core itself, which these functions do by themselves. */
void world_note_changes(World *world, LockRequest *answered);
void world_commit(World *world);

/* What has to be restored by the next service, a line for each agent, request, and name that a
 * sandboxed agent has for a document; owned. */
char *world_describe(World *world);

/* The same for the contents of a file; "damaged", also if they are contradictory. */
char *world_describe_bytes(const char *bytes, gsize size);

/* The same for the file at `path`; "": no file. */
char *world_describe_file(const char *path);
