/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Formats locks and requests as JSON, as rows of a table, and in sentences. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/json.h"
#include "cli/table.h"

const char *lock_output_mode(WebLocksMode mode);

/* Writes the members of the standard's LockInfo [4.5]; the caller has opened the object. */
void lock_output_identity(Json *json, WebLocksLockInfo *info);

/* Writes the members `held` and `pending` with all details; the caller has opened the object. */
void lock_output_snapshot(Json *json, WebLocksSnapshot *snapshot);

/* Returns an owned table for lock_output_row(). With `buckets`, the first column is the bucket. */
Table *lock_output_table(gboolean buckets, gboolean terminal);
/* Adds a row. `uses` is what lock_output_uses() returns. */
void lock_output_row(Table *table, const char *bucket, WebLocksLockInfo *info, GHashTable *uses);

/* Returns an owned table with the locks and requests that others may wait for: the first one of
 * each client for each name. */
GHashTable *lock_output_uses(GListModel *held, GListModel *pending);

/* Returns an owned text for the bucket, where those of several principals are shown. It begins with
 * what differs from the caller: the user, and the application. */
char *lock_output_bucket(WebLocksManager *manager);

/* Writes the members `uid`, `application` and `bucket`; the caller has opened the object. */
void lock_output_bucket_members(Json *json, WebLocksManager *manager);

/* Returns an owned description of the holder at the time of the call: "make (pid 123) for 3 min:
 * WHY"; with the client id, "make (pid 123, :1.5) for 3 min: WHY". */
char *lock_output_holder(WebLocksLockInfo *info, gboolean with_client);
