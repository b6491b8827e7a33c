/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the library makes snapshots. */

#pragma once

#include <weblocks/weblocks.h>

/* Of these, which are WebLocksLockInfo. */
WebLocksSnapshot *web_locks_snapshot_new(GPtrArray *held, GPtrArray *pending);
