/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The core and the model of lock-model.h side by side: each operation is done on both, and then
 * everything is compared: results, effects in their order, held locks, pending requests; and the
 * core's accounts.
 *
 * An operation is a few bytes, and any bytes are valid. So the same code is driven by a random
 * number generator (test-random.c) and by a fuzzer (fuzz-operations.c), and operations can be
 * removed from a list. Uniform bytes result in a useful mix: mostly valid requests, and releases
 * and aborts of existing requests.
 *
 * If the two differ, the process aborts and prints the operation and both sides. */

#pragma once

#include <glib.h>

#define LOCK_WORLD_AGENTS 8

typedef struct {
    guint8 kind;
    guint8 agent;
    guint8 place;  /* bucket and name */
    guint8 flags;  /* of a request: what it asks for */
    guint8 number; /* a duration, or an index */
    guint8 other;
} LockOperation;

typedef struct LockWorld LockWorld;

/* Which buckets there are beside the private sessions of the principals. Those of a cluster are
 * served under permits, which some operations change. */
typedef enum {
    LOCK_WORLD_LOCAL,   /* that of a group, and those of the users' documents */
    LOCK_WORLD_CLUSTER, /* one of a cluster for each principal */
    LOCK_WORLD_SHARED,  /* one of a cluster for all */
} LockWorldKind;

/* `seed` is only printed on failure. Prints each operation if `is_loud`. */
LockWorld *lock_world_new(const char *seed, LockWorldKind kind, gboolean is_loud);

/* Terminates all agents and checks that no object is left. */
void lock_world_free(LockWorld *world);

void lock_world_do(LockWorld *world, const LockOperation *operation);
