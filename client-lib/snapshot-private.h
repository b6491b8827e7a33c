/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the library makes snapshots. */

#pragma once

#include <weblocks/weblocks.h>

/* Of these lists of WebLocksLockInfo, which do not change any more. */
WebLocksSnapshot *web_locks_snapshot_new(GListModel *held, GListModel *pending);
