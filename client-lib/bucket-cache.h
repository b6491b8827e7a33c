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

/* A list of a monitor, and arrays of the WebLocksLockInfo that are to be added and removed. */
typedef struct {
    GListStore *store;
    GPtrArray *added;
    GPtrArray *removed;
} ShownList;

/* Others only read `manager` and `has_more`, and set the flags. */
typedef struct {
    WebLocksManager *manager;
    const char *name;          /* NULL: all names */
    guint64 rank;              /* its place among the buckets of a monitor */
    GHashTable *entries;       /* key -> Entry, which has not ended */
    GPtrArray *hosts;          /* entries of other hosts */
    GHashTable *queues;        /* name -> array of Entry, in the order of the requests */
    GPtrArray *changed;        /* entries */
    GHashTable *changed_names; /* of queues */
    GHashTable *awaited;       /* the keys of requests that are known from signals only */
    guint64 n_added;           /* how many entries there have ever been */
    guint64 after;             /* the cursor of the last one that has been read */
    gboolean is_stale;         /* everything has to be read again: signals may have been missed */
    gboolean is_due;           /* what other hosts hold has to be read, if it has a name */
    /* There are further pages. They are read even if something has to be read again after them, so
     * that a bucket of which signals are missed all the time is shown, too. FALSE makes it read
     * from the beginning. */
    gboolean has_more;
    gboolean reads_all; /* the last call reads from the beginning */
    guint n_pages;      /* how many have been read */
    guint first_page;   /* since reading from the beginning; 0: it is over */
    guint64 last_order; /* of the last entry in these pages */
} BucketCache;

/* `name` is borrowed; NULL: all names. Nothing has been read. */
BucketCache *bucket_cache_new(WebLocksManager *manager, const char *name, guint64 rank);
void bucket_cache_free(BucketCache *self);

/* The bucket is empty, and nothing has to be read. */
void bucket_cache_clear(BucketCache *self);

/* Applies a signal. `body` may be NULL. */
void bucket_cache_signal(BucketCache *self, const char *member, GVariant *body);

/* Whether something has to be read, and the call that reads it or its next page. If nothing has to
 * be read, the call reads what is newer. */
gboolean bucket_cache_wants_call(const BucketCache *self);
BusMessage bucket_cache_build(BucketCache *self);

/* Takes the reply. Returns FALSE and an error if it is not readable. */
gboolean bucket_cache_read(BucketCache *self, GVariant *body, GError **error);

/* Changes the items, and collects what has changed in the lists since this was last called. The
 * "notify" of the changed items is frozen; they are added to `frozen`. */
void
bucket_cache_collect(BucketCache *self, ShownList *held, ShownList *pending, GPtrArray *frozen);
