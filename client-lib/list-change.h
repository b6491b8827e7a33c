/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes of the two lists of a monitor.
 *
 * They are collected with the session lock held, and applied without it in the context of the
 * monitor, since the lists then emit signals. The lists are sorted by
 * web_locks_lock_info_compare(). */

#pragma once

#include <weblocks/weblocks.h>

/* Both are owned. */
typedef struct {
    WebLocksLockInfo *before; /* NULL: it is added */
    WebLocksLockInfo *now;    /* NULL: it is removed */
} ListChange;

/* An array of ListChange. */
GArray *list_changes_new(void);

/* Applies the changes. Each list changes in one step, unless items far from each other change, so
 * that it does not show a lock that was handed over as one without a holder. */
void list_changes_apply(GArray *self, GListStore *held, GListStore *pending);
