/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock manager [2.2]: one storage bucket of one principal, with the algorithms of section 4.
 *
 * Every operation checks first and changes afterwards; what it did is in the user agent's effects,
 * in the order it happened. No operation looks at any request that it doesn't change, but for the
 * head of a queue. `requests` has all live ones of the bucket in the order they were made, which is
 * what a snapshot and Inspect walk.
 *
 * Tokens grow within a bucket. They start from the clock (microseconds since 1970, so they also fit
 * the 53 bits of a JavaScript number), and a bucket that comes into being again never starts below
 * one that it had. A bucket that is empty starts again at its next request even if a watch keeps
 * its manager: so tokens and cursors don't show a client that it is watched. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "effects.h"
#include "inspect.h"
#include "lock-request.h"
#include "lock-result.h"

struct LockManager {
    guint refs;
    Principal *principal;
    char *bucket;
    GHashTable *queues; /* of LockQueue.name, weak */
    GQueue requests;    /* of LockRequest, by LockRequest.in_manager */
    guint n_held;       /* of `requests`; the others wait */
    guint64 last_sequence;
    guint64 last_token;
    guint64 last_inspection; /* of inspect.c */
};

/* The manager of a bucket, made if there is none; a new reference. */
LockManager *lock_manager_get(Principal *principal, const char *bucket);

/* The same without making one: NULL if nobody refers to that bucket, so nothing is in it. Borrowed.
 */
LockManager *lock_manager_find(const Principal *principal, const char *bucket);

LockManager *lock_manager_ref(LockManager *manager);
void lock_manager_unref(LockManager *manager);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LockManager, lock_manager_unref)

/* [3.2.1, 4.1] Requests a lock. On LOCK_RESULT_OK `*out_request` is borrowed, and its state tells
 * whether it is held or waits. With a key that is live it is the request of that key. */
LockResult lock_manager_request(LockManager *manager,
                                Agent *agent,
                                const char *name,
                                const LockOptions *options,
                                LockRequest **out_request);

/* [4.2] Releases a lock that this agent holds in this bucket, else LOCK_RESULT_NOT_HELD. */
LockResult lock_manager_release(LockManager *manager, Agent *agent, guint64 id);

/* [4.3] Aborts a request of this agent that waits in this bucket. FALSE, and no effect, otherwise.
 */
gboolean lock_manager_abort(LockManager *manager, Agent *agent, guint64 id);

/* Whether a name is reserved or too long. */
LockResult lock_name_check(const char *name, const Limits *limits);

/* Ends the locks held under `filter->name` that match the filter, as a steal does, and grants to
 * the requests that wait. Returns how many locks it has ended. */
guint32 lock_manager_break(LockManager *manager, const InspectFilter *filter);

/* [4.5] Calls `visit` for each lock (`state` held) or each request (pending) of the bucket, in the
 * order they were requested. Nothing may be changed meanwhile. */
typedef void (*SnapshotVisit)(const LockRequest *request, gpointer data);
void lock_manager_snapshot(const LockManager *manager,
                           LockRequestState state,
                           SnapshotVisit visit,
                           gpointer data);

/* The token of the next grant; never the same twice. */
guint64 lock_manager_next_token(LockManager *manager);

/* One that was there before the service died. To be called in the order in which they were made,
 * before anything else is asked of the manager; no queue is processed. NULL if it can't be: it
 * contradicts its agent or what is there already. Borrowed. */
LockRequest *lock_manager_restore(LockManager *manager,
                                  Agent *agent,
                                  const char *name,
                                  const LockRequestParts *parts);

/* For operations of the user agent that end many requests: this one leaves every list and ends for
 * `kind`'s reason. Its queue is not processed. */
void lock_manager_end_request(LockManager *manager, LockRequest *request, EffectKind effect_kind);
