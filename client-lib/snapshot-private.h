/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the library makes snapshots. */

#pragma once

#include <weblocks/weblocks.h>

WebLocksSnapshot *web_locks_snapshot_new(void);

/* To `held` or `pending`, as it says itself. Takes the info. */
void web_locks_snapshot_take(WebLocksSnapshot *self, WebLocksLockInfo *info);
