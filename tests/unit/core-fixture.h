/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the core's tests share: a user agent with six agents, and short functions for the core's
 * operations.
 *
 * A, B, C and D have one principal (uid 1000), E is a sandboxed application of the same user, F is
 * another user (uid 2000). A request is written `A1`: its agent's letter and its id. Options are
 * words: "shared steal ifAvailable timeout=MS slots=N key=N bucket=NAME"; the bucket defaults to
 * "default". Like the server, an operation holds a reference to the manager only while it runs.
 */

#pragma once

#include <glib.h>

#include "service/core/inspect.h"
#include "service/core/lock-manager.h"
#include "service/core/lock-queue.h"
#include "service/core/principal.h"
#include "service/core/user-agent.h"

#define FIXTURE_AGENTS       6
#define FIXTURE_BUCKET       "default"
#define FIXTURE_UID          1000
#define FIXTURE_OTHER_UID    2000
#define FIXTURE_REALTIME_US  G_GINT64_CONSTANT(1700000000000000)
#define FIXTURE_MONOTONIC_US G_GINT64_CONSTANT(5000000)

typedef struct {
    UserAgent user_agent;
    Agent *agents[FIXTURE_AGENTS]; /* NULL once terminated */
} CoreFixture;

/* The set-up and tear-down functions of g_test_add(). The latter terminates the remaining agents;
 * the assertions of the core then check that no object of the test is left. */
void fixture_set_up(CoreFixture *fixture, gconstpointer data);
void fixture_tear_down(CoreFixture *fixture, gconstpointer data);

#define FIXTURE_TEST(path, function) \
    g_test_add(path, CoreFixture, NULL, fixture_set_up, function, fixture_tear_down)

/* The agent must exist. */
Agent *fixture_agent(const CoreFixture *fixture, char letter);

/* The client of a terminated agent connects again, as a new agent. */
LockResult fixture_new_agent(CoreFixture *fixture, char letter);
void fixture_terminate(CoreFixture *fixture, char letter);

/* A reference, as from lock_manager_get(). */
LockManager *fixture_manager(CoreFixture *fixture, char letter, const char *bucket);

/* `*out_id` is 0 without a request. The next one asserts success, and returns the id. */
LockResult
fixture_try(CoreFixture *, char letter, const char *name, const char *options, guint64 *out_id);
guint64 fixture_request(CoreFixture *, char letter, const char *name, const char *options);

/* The live request of that id. */
LockRequest *fixture_find(const CoreFixture *fixture, char letter, guint64 id);

LockResult fixture_release(CoreFixture *fixture, char letter, guint64 id);
LockResult fixture_release_in(CoreFixture *fixture, char letter, const char *bucket, guint64 id);

/* The first only moves the monotonic clock; the second also expires the requests that are then due.
 * */
void fixture_advance_us(CoreFixture *fixture, gint64 us);
void fixture_expire_after_ms(CoreFixture *fixture, gint64 ms);

/* "granted A1, stolen B2": the effects since the last call; clears them. */
char *fixture_take_effects(CoreFixture *fixture);

#define assert_effects(fixture, expected)                          \
    G_STMT_START                                                   \
    {                                                              \
        g_autofree char *effects_ = fixture_take_effects(fixture); \
        g_assert_cmpstr(effects_, ==, expected);                   \
    }                                                              \
    G_STMT_END

/* From WEBLOCKS_TEST_SEED in the environment, or g_test's --seed; printed to the log. */
guint32 fixture_get_seed(void);

/* One of these sizes, as WEBLOCKS_FULL_SIZE and WEBLOCKS_TEST_ALL in the environment ask for; a
 * twentieth of it if WEBLOCKS_TEST_SLOW is set. */
guint fixture_get_size(guint quick, guint with_all, guint full);
