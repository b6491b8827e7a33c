/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locks and requests as JSON and as cells of a table.
 *
 * Plain: what a snapshot of the standard has [4.5]. Detailed: all that the service tells. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/json.h"
#include "cli/table.h"

const char *lock_output_mode(WebLocksMode mode);

/* Owned; such as 12s, 3m05s, 2h03m, 5d04h. */
char *lock_output_age(guint64 age_ms);

/* Members of an object that is already open. */
void lock_output_members(Json *json, WebLocksLockInfo *info, gboolean detailed);

/* `held` and `pending`, as members of an object that is already open. */
void lock_output_snapshot(Json *json, WebLocksSnapshot *snapshot, gboolean detailed);

/* The headings for rows of lock_output_row(); static. With buckets, that column comes first. */
const char *const *lock_output_headings(gboolean buckets, gboolean detailed);
void lock_output_row(Table *table, const char *bucket, WebLocksLockInfo *info, gboolean detailed);

/* Owned; who that is, in a sentence: "make (pid 123, :1.5)". */
char *lock_output_who(WebLocksLockInfo *info);
