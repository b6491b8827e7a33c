/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Forward declarations of the core's types, and their references.
 *
 * All reference counts are plain integers, since there is one thread.
 *
 *     UserAgent ─ principals, agents (weak)
 *     LockRequest ─→ LockQueue ─→ LockManager ─→ Principal (─→ Principal of its uid)
 *             └────→ Agent ─────────────────────────┘
 *
 * An arrow is an owned reference. Queues, managers and principals exist, and can be found by name,
 * exactly as long as something refers to them. A LockRequest has one reference while it is live
 * (pending or held), and one for each effect that contains it. */

#pragma once

typedef struct Agent Agent;
typedef struct Cell Cell;
typedef struct Effects Effects;
typedef struct LimitsAccount LimitsAccount;
typedef struct LockManager LockManager;
typedef struct LockQueue LockQueue;
typedef struct LockRequest LockRequest;
typedef struct Permit Permit;
typedef struct Principal Principal;
typedef struct UserAgent UserAgent;
