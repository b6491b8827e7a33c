/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The held locks and pending requests of one bucket, or of one name in it, as received by a
 * watcher.
 *
 * They are read once by Inspect; then the signals that follow are applied. A signal has no details,
 * such as the process. So a request that is known from signals only is awaited until it has been
 * read by one more Inspect, for everything that is newer than what has been read. This relies on
 * the order of the service's messages: a reply contains all changes of the signals before it, and
 * none of the signals after it; so only what is missed after the first page is read again.
 *
 * All functions are called with the session lock held. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/method-call.h"
#include "client-lib/list-change.h"

typedef struct WatchedBucket WatchedBucket;

/* `name` is borrowed; NULL: all names. `rank` is its place among the buckets of a monitor. Nothing
 * has been read. */
WatchedBucket *watched_bucket_new(WebLocksManager *manager, const char *name, guint64 rank);
void watched_bucket_free(WatchedBucket *self);
WebLocksManager *watched_bucket_get_manager(const WatchedBucket *self);

/* Everything has to be read again: signals may have been missed. */
void watched_bucket_invalidate(WatchedBucket *self);
gboolean watched_bucket_is_stale(const WatchedBucket *self);

/* The bucket is empty. */
void watched_bucket_clear(WatchedBucket *self);

/* Applies a signal. `body` may be NULL. */
void watched_bucket_signal(WatchedBucket *self, const char *member, GVariant *body);

/* Whether something has to be read, and the call that reads it or its next page. If nothing has to
 * be read, the call reads what is newer. */
gboolean watched_bucket_wants_call(const WatchedBucket *self);
MethodCallMessage watched_bucket_build(WatchedBucket *self);

/* Takes the reply. Returns FALSE and an error, or sets `out_more` if there are more pages. */
gboolean
watched_bucket_read(WatchedBucket *self, GVariant *body, gboolean *out_more, GError **error);

/* Appends what has changed since this was last called to an array of ListChange. */
void watched_bucket_collect(WatchedBucket *self, GArray *changes);
