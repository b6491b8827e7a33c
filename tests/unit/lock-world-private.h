/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What lock-world.c (operations) and lock-world-checks.c (comparisons) share. */

#pragma once

#include "service/core/principal.h"
#include "service/core/user-agent.h"
#include "tests/unit/lock-model.h"
#include "tests/unit/lock-world.h"

#define N_AGENTS     LOCK_WORLD_AGENTS
#define N_PRINCIPALS 3
#define N_BUCKETS    2
#define N_NAMES      6

/* A line of either side, in the same terms. */
typedef struct {
    guint principal;
    guint bucket;
    guint name;
    guint what; /* EffectKind, or LockRequestState */
    guint agent;
    guint mode;
    guint64 id;
} Line;

typedef LockWorld World;

struct LockWorld {
    char *seed;
    gboolean is_loud;
    guint step;
    char operation[200];
    UserAgent *core; /* of its own: principals point to it */
    LockModel model;
    Agent *agents[N_AGENTS];     /* NULL: gone */
    guint model_agent[N_AGENTS]; /* the model's number of it */
    guint n_effects_seen;
    guint64 last_token[N_PRINCIPALS][N_BUCKETS];
    GArray *expected; /* of Line */
    GArray *actual;   /* of Line */
};

extern const PrincipalIdentity lock_world_identities[N_PRINCIPALS];
extern const char *const lock_world_buckets[N_BUCKETS];
extern const char *const lock_world_names[N_NAMES];

/* Ends the process, with both sides in words, if it isn't so. */
void lock_world_check(const World *world, gboolean is_true, const char *what);

/* What has happened since the last time. Of an operation that ends many only the order within each
 * name is compared, and that all ends come before the first grant. */
void lock_world_check_effects(World *world, gboolean ends_many);

/* What is held and what waits in each bucket, and the core's own books. */
void lock_world_check_state(World *world);
