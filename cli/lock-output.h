/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Formats locks and requests as JSON and as rows of a table.
 *
 * The plain format has the members of the standard's LockInfo [4.5]; the detailed format has all
 * members of WebLocksLockInfo. */

#pragma once

#include <weblocks/weblocks.h>

#include "cli/json.h"
#include "cli/table.h"

const char *lock_output_mode(WebLocksMode mode);

/* Writes the members of one lock or request; the caller has opened the object. */
void lock_output_members(Json *json, WebLocksLockInfo *info, gboolean detailed);

/* Writes the members `held` and `pending`; the caller has opened the object. */
void lock_output_snapshot(Json *json, WebLocksSnapshot *snapshot, gboolean detailed);

/* Returns an owned table for lock_output_row(). With `buckets`, the first column is the bucket. */
Table *lock_output_table(gboolean buckets, gboolean detailed, gboolean terminal);
/* Adds a row; detailed if `clients` is not NULL. */
void lock_output_row(Table *table, const char *bucket, WebLocksLockInfo *info, GHashTable *clients);

/* Returns an owned table of what a row shows for a client that another one waits for: its program
 * and process id, by client id. */
GHashTable *lock_output_clients(GListModel *held, GListModel *pending);

/* Returns an owned text for the bucket, where those of several principals are shown. It begins with
 * what differs from the caller: the user, and the application. */
char *lock_output_bucket(WebLocksManager *manager);

/* Writes the members `uid`, `application` and `bucket`; the caller has opened the object. */
void lock_output_bucket_members(Json *json, WebLocksManager *manager);

/* Returns an owned description of the holder: "make (pid 123, :1.5) for 12s: WHY". */
char *lock_output_who(WebLocksLockInfo *info);

/* Returns an owned short description of the holder: "make (pid 123) for 3 min: WHY", with the age
 * at the time of the call. */
char *lock_output_holder(WebLocksLockInfo *info);
