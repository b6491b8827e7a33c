/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A lock manager [2.2]: one storage bucket of one principal, with the algorithms of section 4.
 *
 * Every operation makes all checks before it changes anything. Its changes are appended to the user
 * agent's effects in order. Apart from the head of a queue, no operation visits a request that it
 * doesn't change. `requests` has all live requests of the bucket in the order in which they were
 * made; snapshots and Inspect visit it.
 *
 * Tokens grow within a bucket. They start from the clock (microseconds since 1970, so they also fit
 * the 53 bits of a JavaScript number), and a bucket that comes into being again never starts below
 * one that it had. A bucket that is empty starts again at its next request even if a watch keeps
 * its manager: so tokens and cursors don't show a client that it is watched.
 *
 * A clustered manager is that of a bucket whose name begins with `cluster:`, which several hosts
 * share. Its queues have permits, and its tokens come in ranges: see permit.h. */

#pragma once

#include <glib.h>

#include "core-limits.h"
#include "core-types.h"
#include "lock-queue.h"
#include "lock-result.h"
#include "private-session.h"

struct LockManager {
    guint refs;
    gboolean clustered;
    Principal *principal;
    char *bucket;
    PrivateSession *session; /* owned; NULL: it is no private session */
    GHashTable *queues;      /* of LockQueue.name, weak */
    GQueue requests;         /* of LockRequest, by LockRequest.in_manager */
    guint n_held;            /* the number of held locks in `requests`; the others are pending */
    guint64 last_sequence;
    guint64 last_token;      /* 0 if clustered: see permit.h */
    guint64 last_inspection; /* private to inspect.c */
    GQueue watches;          /* for the server; not used by the core */
};

/* Gets the manager of a bucket, or creates it. Returns a new reference. */
LockManager *lock_manager_get(Principal *principal, const char *bucket);

/* Returns the existing manager of a bucket, borrowed, or NULL if there is none. */
LockManager *lock_manager_find(const Principal *principal, const char *bucket);

/* The same for the private session that has this public name. */
LockManager *lock_manager_find_session(const Principal *principal, const char *public_name);

/* Returns the name by which the agent is shown the bucket: the public name of a private session in
 * which it has no request, otherwise the name. */
const char *lock_manager_get_name_for(const LockManager *manager, const Agent *agent);

LockManager *lock_manager_ref(LockManager *manager);
void lock_manager_unref(LockManager *manager);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(LockManager, lock_manager_unref)

/* [3.2.1, 4.1] Requests a lock. On LOCK_RESULT_OK `*out_request` is borrowed; its state is held or
 * pending. With the key of a live request, it is that request. */
LockResult lock_manager_request(LockManager *manager,
                                Agent *agent,
                                const char *name,
                                const LockOptions *options,
                                LockRequest **out_request);

/* [4.2] Releases a lock that this agent holds in this bucket, or fails with LOCK_RESULT_NOT_HELD.
 */
LockResult lock_manager_release(LockManager *manager, Agent *agent, guint64 id);

/* Makes a lock that this agent holds in this bucket shared, and grants what can be held with it; a
 * shared lock stays as it is. Fails with LOCK_RESULT_NOT_HELD, or with LOCK_RESULT_OTHER_HOLDERS
 * while others hold the counting lock. There is no way back: two holders of a shared lock that both
 * wait to be exclusive would wait for each other. */
LockResult lock_manager_downgrade(LockManager *manager, Agent *agent, guint64 id);

/* [4.3] Aborts a pending request of this agent in this bucket. Returns FALSE and changes nothing if
 * there is none with this id. */
gboolean lock_manager_abort(LockManager *manager, Agent *agent, guint64 id);

/* Whether a name is reserved or too long. */
LockResult lock_name_check(const char *name, const Limits *limits);

/* [4.5] Calls `visit` for each held lock or each pending request of the bucket, depending on
 * `state`, in the order in which they were requested. `visit` must not change the core. */
typedef void (*SnapshotVisit)(const LockRequest *request, gpointer data);
void lock_manager_snapshot(const LockManager *manager,
                           LockRequestState state,
                           SnapshotVisit visit,
                           gpointer data);

/* Whether the bucket is that of the user of this sandboxed application: the one for documents. */
gboolean lock_manager_is_of_user(const LockManager *manager, const Principal *app);

/* Returns the name of the bucket by which agents of the principal make their requests there. */
const char *lock_manager_get_name_of(const LockManager *manager, const Principal *principal);

/* Returns a new token for a grant. */
guint64 lock_manager_next_token(LockManager *manager);

/* Restores a request from the stored state. Used are the fields of `stored` from `state` to
 * `command`, without those that only say what is noted about a request. Has to be called in the
 * order in which the requests were made, before any other operation of the manager; processes no
 * queue. Returns a borrowed request, or NULL if it contradicts its agent or requests restored
 * before. */
LockRequest *lock_manager_restore(LockManager *manager,
                                  Agent *agent,
                                  const char *name,
                                  const LockRequest *stored);

/* For operations of the user agent that end many requests: removes the request from all lists and
 * appends the effect. Its queue is not processed. */
void lock_manager_end_request(LockManager *manager, LockRequest *request, EffectKind effect_kind);

/* The same, and processes the queue. */
void
lock_manager_end_and_process(LockManager *manager, LockRequest *request, EffectKind effect_kind);
