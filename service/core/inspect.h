/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A snapshot for people and tools: which of a bucket's locks and requests, page by page, each with
 * its place in the queue and who stands in its way. Walks the whole bucket once; changes nothing
 * but the marks of its own walk. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-request.h"

/* How many conflicting locks and requests are looked at for one entry's `blocked_by`. */
#define INSPECT_BLOCKERS_MAX 64

typedef struct {
    const char *name;      /* NULL for all */
    const char *prefix;    /* NULL for all */
    const char *client_id; /* NULL for all */
    gboolean by_id;
    guint64 id; /* only if by_id */
    gboolean by_state;
    LockRequestState state; /* only if by_state */
    guint64 after; /* LockRequest.sequence of the last entry of the page before; 0 at first */
    guint32 limit; /* entries in this page */
} InspectFilter;

typedef struct {
    const LockRequest *request;
    guint position; /* 1 is next; 0 for held */
    /* The clients whose locks, then whose earlier requests conflict with this one; each once, and
     * possibly the request's own client. */
    const char *blocked_by[INSPECT_BLOCKERS_MAX];
    guint n_blocked_by;
} InspectEntry;

typedef void (*InspectVisit)(const InspectEntry *entry, gpointer data);

/* Whether an entry is one of those that the filter asks for. */
gboolean inspect_filter_matches(const InspectFilter *filter, const LockRequest *request);

/* Visits the entries of one page in the order they were requested; TRUE if there are more. */
gboolean lock_manager_inspect(LockManager *manager,
                              const InspectFilter *filter,
                              InspectVisit visit,
                              gpointer data);
