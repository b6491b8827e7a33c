/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The core and the model of lock-model.h side by side: each operation is done to both, and then
 * everything is compared: what was answered, what happened in which order, what is held and what
 * waits; and the core's own books.
 *
 * An operation is a few bytes, and any bytes are one. So the same ones come from a generator of
 * random numbers (test-random.c) and from a fuzzer (fuzz-operations.c), and what is left of a list
 * of them after some were taken out is a list of them too. Uniform bytes give a mix that makes
 * sense: mostly requests that are legal, and releases and aborts of what is there.
 *
 * Where the two differ the process ends, with the operation and both sides in words. */

#pragma once

#include <glib.h>

#define LOCK_WORLD_AGENTS 8

typedef struct {
    guint8 kind;
    guint8 agent;
    guint8 place;  /* bucket and name */
    guint8 flags;  /* of a request: what it asks for */
    guint8 number; /* a time, or which of many */
    guint8 other;
} LockOperation;

typedef struct LockWorld LockWorld;

/* `seed` only is what a failure tells. Tells each operation if `is_loud`. */
LockWorld *lock_world_new(const char *seed, gboolean is_loud);

/* All leave, and nothing may remain. */
void lock_world_free(LockWorld *world);

void lock_world_do(LockWorld *world, const LockOperation *operation);
