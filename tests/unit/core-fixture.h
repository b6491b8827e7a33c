/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A user agent with six agents, and functions of the core for them. A, B, C and D have one
 * principal (uid 1000), E is a sandboxed application of the same user, F is another user (uid
 * 2000). */

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

/* Requests a lock of one name, and asserts success; releases it, and clears the effects. */
LockRequest *
fixture_request(CoreFixture *fixture, char letter, const char *bucket, const LockOptions *options);
void fixture_release(CoreFixture *fixture, LockRequest *request);

/* Both clocks. */
void fixture_advance_us(CoreFixture *fixture, gint64 us);

/* From WEBLOCKS_TEST_SEED in the environment, or g_test's --seed; printed to the log. */
guint32 fixture_get_seed(void);

/* One of these sizes, as WEBLOCKS_FULL_SIZE and WEBLOCKS_TEST_ALL in the environment ask for; a
 * twentieth of it if WEBLOCKS_TEST_SLOW is set. */
guint fixture_get_size(guint quick, guint with_all, guint full);
