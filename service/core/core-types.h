/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The core's types by name, for headers that only point at each other's objects.
 *
 * Who owns what, in one place. All counts are plain integers: one loop, no threads.
 *
 *     UserAgent ─ principals, agents (weak: they are there while somebody holds them)
 *         └─────────────────────────────────────────────────────→ LimitsAccount of all
 *     LockRequest ─→ LockQueue ─→ LockManager ─→ Principal ─→ LimitsAccount ─┘
 *             └────→ Agent ─────────────────────────┘
 *
 * An arrow is a reference. So a queue, a manager and a principal live exactly as long as something
 * needs them, and are found by name exactly as long as they live. A LockRequest is referenced by
 * its own life (waiting or held) and by each effect that tells of it. */

#pragma once

typedef struct Agent Agent;
typedef struct Deadlines Deadlines;
typedef struct Effects Effects;
typedef struct LimitsAccount LimitsAccount;
typedef struct LockManager LockManager;
typedef struct LockQueue LockQueue;
typedef struct LockRequest LockRequest;
typedef struct Principal Principal;
typedef struct UserAgent UserAgent;
