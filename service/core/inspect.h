/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is done by a filter: Inspect and Break.
 *
 * Inspect returns a page of a bucket's locks and requests that match, each with its position in the
 * queue and the clients that it waits for. It visits all requests of the bucket once, and changes
 * nothing except the `inspection` counters of manager and queues. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-queue.h"

/* How many conflicting locks and requests are considered for `blocked_by` of one entry. */
#define INSPECT_BLOCKERS_MAX 64

typedef struct {
    const char *name;      /* NULL for all */
    const char *prefix;    /* NULL for all */
    const char *client_id; /* NULL for all */
    gboolean by_id;
    guint64 id; /* only if by_id */
    gboolean by_state;
    LockRequestState state; /* only if by_state */
    guint64 after; /* LockRequest.sequence of the last entry of the previous page; 0: none */
    guint32 limit; /* maximum number of entries */
    gboolean (*admits)(const LockRequest *request, gpointer data); /* NULL for all */
    gpointer data;
} InspectFilter;

typedef struct {
    const LockRequest *request;
    /* In the queue, beginning with 1; 0 for a held lock. An undecided steal is also 1, since it is
     * before the queue (permit.h). */
    guint position;
    /* The clientIds of the held locks, unless these admit the request, then of conflicting earlier
     * requests; each once, and possibly that of the request itself. Borrowed. */
    const char *blocked_by[INSPECT_BLOCKERS_MAX];
    guint n_blocked_by;
} InspectEntry;

typedef void (*InspectVisit)(const InspectEntry *entry, gpointer data);

/* Visits the entries of one page in the order in which they were requested. Returns TRUE if there
 * are more matching entries. */
gboolean lock_manager_inspect(LockManager *manager,
                              const InspectFilter *filter,
                              InspectVisit visit,
                              gpointer data);

/* Whether agents of another uid hold the lock or wait for it. */
gboolean lock_manager_concerns_others(const LockManager *manager, const char *name, guint32 uid);

/* Ends the locks held under `filter->name` that match the filter, as a steal does, and grants to
 * the requests that wait. Returns how many locks it has ended. */
guint32 lock_manager_break(LockManager *manager, const InspectFilter *filter);
