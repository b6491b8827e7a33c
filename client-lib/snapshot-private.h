/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksSnapshot that are private to the library. A snapshot owns references to its
 * lists. */

#pragma once

#include <weblocks/weblocks.h>

/* Creates a snapshot of two lists of WebLocksLockInfo, which must not change any more. */
WebLocksSnapshot *web_locks_snapshot_new(GListModel *held, GListModel *pending);
