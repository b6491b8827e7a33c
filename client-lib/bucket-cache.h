/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A cache of the held locks and pending requests of one bucket, or of one name in it.
 *
 * They are read once by Inspect; then the signals that follow are applied. A signal has no details,
 * such as the process. So a request that is known from signals only is awaited until it has been
 * read by one more Inspect, for everything that is newer than what has been read. This relies on
 * the order of the service's messages: a reply contains all changes of the signals before it, and
 * none of the signals after it; so only what is missed after the first page is read again.
 *
 * An item is one object from the request, or from the first time it is read, to the end. It changes
 * in bucket_cache_collect() only, with the lists of the monitor. The functions are called by one
 * thread at a time. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/method-call.h"

typedef struct BucketCache BucketCache;

/* A list of a monitor, and arrays of the WebLocksLockInfo that are to be added and removed. */
typedef struct {
    GListStore *store;
    GPtrArray *added;
    GPtrArray *removed;
} ShownList;

/* `name` is borrowed; NULL: all names. `rank` is its place among the buckets of a monitor. Nothing
 * has been read. */
BucketCache *bucket_cache_new(WebLocksManager *manager, const char *name, guint64 rank);
void bucket_cache_free(BucketCache *self);
WebLocksManager *bucket_cache_get_manager(const BucketCache *self);

/* Everything has to be read again: signals may have been missed. */
void bucket_cache_invalidate(BucketCache *self);

/* The service is another one, so what is being read is read from the beginning. */
void bucket_cache_restart(BucketCache *self);

/* What other hosts hold has to be read again, if this is a cache of one name. */
void bucket_cache_poll_hosts(BucketCache *self);

/* The bucket is empty, and nothing has to be read. */
void bucket_cache_clear(BucketCache *self);

/* Applies a signal. `body` may be NULL. */
void bucket_cache_signal(BucketCache *self, const char *member, GVariant *body);

/* Whether something has to be read, and the call that reads it or its next page. If nothing has to
 * be read, the call reads what is newer. */
gboolean bucket_cache_wants_call(const BucketCache *self);
MethodCallMessage bucket_cache_build(BucketCache *self);

/* Takes the reply. Returns FALSE and an error if it is not readable. */
gboolean bucket_cache_read(BucketCache *self, GVariant *body, GError **error);
/* Whether there are further pages. They are read even if something has to be read again after them,
 * so that a bucket of which signals are missed all the time is shown, too. */
gboolean bucket_cache_has_more(const BucketCache *self);

/* Changes the items, and collects what has changed in the lists since this was last called. The
 * "notify" of the changed items is frozen; they are added to `frozen`. */
void
bucket_cache_collect(BucketCache *self, ShownList *held, ShownList *pending, GPtrArray *frozen);
