/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

/**
 * WebLocksClaimState:
 * @WEB_LOCKS_CLAIM_STATE_IDLE: not started, or stopped
 * @WEB_LOCKS_CLAIM_STATE_WAITING: the lock is requested
 * @WEB_LOCKS_CLAIM_STATE_HELD: the lock is held
 * @WEB_LOCKS_CLAIM_STATE_LOST: the lock was held, and has been lost
 * @WEB_LOCKS_CLAIM_STATE_FAILED: the request has failed
 * @WEB_LOCKS_CLAIM_STATE_UNAVAILABLE: the lock is not held because there is no lock service, so
 *   nobody is excluded; the application may go on at the risk of its user
 *
 * The state of a [class@WebLocks.Claim].
 *
 * Since: 0.1
 */
typedef enum {
    WEB_LOCKS_CLAIM_STATE_IDLE,
    WEB_LOCKS_CLAIM_STATE_WAITING,
    WEB_LOCKS_CLAIM_STATE_HELD,
    WEB_LOCKS_CLAIM_STATE_LOST,
    WEB_LOCKS_CLAIM_STATE_FAILED,
    WEB_LOCKS_CLAIM_STATE_UNAVAILABLE,
} WebLocksClaimState;

#define WEB_LOCKS_TYPE_CLAIM (web_locks_claim_get_type())
G_DECLARE_FINAL_TYPE(WebLocksClaim, web_locks_claim, WEB_LOCKS, CLAIM, GObject)

WebLocksClaim *web_locks_claim_new(WebLocksManager *manager, const char *name);
WebLocksClaim *web_locks_claim_new_for_file(WebLocksAgent *agent, GFile *file);

void web_locks_claim_start(WebLocksClaim *self);
void web_locks_claim_stop(WebLocksClaim *self);
void web_locks_claim_take_over_async(WebLocksClaim *self,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
gboolean
web_locks_claim_take_over_finish(WebLocksClaim *self, GAsyncResult *result, GError **error);

WebLocksManager *web_locks_claim_get_manager(WebLocksClaim *self);
const char *web_locks_claim_get_name(WebLocksClaim *self);
GFile *web_locks_claim_get_file(WebLocksClaim *self);
gboolean web_locks_claim_get_excludes_all(WebLocksClaim *self);
WebLocksMode web_locks_claim_get_mode(WebLocksClaim *self);
const char *web_locks_claim_get_why(WebLocksClaim *self);
gboolean web_locks_claim_get_reclaim(WebLocksClaim *self);
void web_locks_claim_set_reclaim(WebLocksClaim *self, gboolean reclaim);
guint web_locks_claim_get_grace(WebLocksClaim *self);
void web_locks_claim_set_grace(WebLocksClaim *self, guint grace);

WebLocksClaimState web_locks_claim_get_state(WebLocksClaim *self);
gboolean web_locks_claim_get_held(WebLocksClaim *self);
WebLocksLock *web_locks_claim_get_lock(WebLocksClaim *self);
guint64 web_locks_claim_get_token(WebLocksClaim *self);
gboolean web_locks_claim_get_wanted(WebLocksClaim *self);
WebLocksLockInfo *web_locks_claim_get_holder(WebLocksClaim *self);
guint web_locks_claim_get_position(WebLocksClaim *self);
const GError *web_locks_claim_get_error(WebLocksClaim *self);

G_END_DECLS
