/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Lists of other hosts' claims that are used again.
 *
 * A list is read from the engine node by node, and clients may ask for it all the time. So it is
 * used again for LIST_CACHE_FACTOR times as long as it took to read: the list of one bucket of one
 * user is read for at most a fifth of the time, however many names it has, and one of few names is
 * practically always new. Lists that take more than LIST_CACHE_BYTES_MAX together replace the
 * oldest ones.
 *
 * All times are of one clock that never goes back, in microseconds. */

#pragma once

#include <glib.h>

#define LIST_CACHE_FACTOR    4
#define LIST_CACHE_BYTES_MAX (16UL * 1024 * 1024)

typedef struct ListCache ListCache;

ListCache *list_cache_new(void);
void list_cache_free(ListCache *cache);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ListCache, list_cache_free)

/* `rows`, see cluster_row_read(), were read in this time. */
void list_cache_add(ListCache *cache,
                    const char *bucket,
                    guint32 uid,
                    GPtrArray *rows,
                    gint64 begin_us,
                    gint64 end_us);

/* Returns the rows of a list that can be used now, borrowed; NULL: none. */
const GPtrArray *list_cache_find(ListCache *cache, const char *bucket, guint32 uid, gint64 now_us);

/* The claims have changed. */
void list_cache_clear(ListCache *cache);
