/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksLockInfo that are private to the library: infos are created from replies or
 * from other infos, and have details that only monitors use.
 *
 * An info that is in a list does not change, except for its evidence: when the lock or request
 * changes, a new info replaces it. Functions that return a WebLocksLockInfo return a new reference.
 */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/process-look.h"

/* From one entry of Query. */
WebLocksLockInfo *web_locks_lock_info_new_from_query(const char *name,
                                                     const char *mode,
                                                     const char *client_id,
                                                     gboolean held);

/* From one entry of Inspect: "a{sv}". NULL: it is not of this contract. */
WebLocksLockInfo *web_locks_lock_info_new_from_inspect(GVariant *entry);

/* The value of the filter `after` of Inspect for the page after this entry. */
guint64 web_locks_lock_info_get_cursor(WebLocksLockInfo *self);

/* Whether this is what another host of a cluster holds or waits for. */
gboolean web_locks_lock_info_is_of_another_host(WebLocksLockInfo *self);

/* The key of the request, if it is one of the caller; otherwise 0. */
guint64 web_locks_lock_info_get_key(WebLocksLockInfo *self);

/* As web_locks_lock_info_get_since(), by boot_time_get_us(), which is never set. */
gint64 web_locks_lock_info_get_since_boot(WebLocksLockInfo *self);

/* The data about the process from the previous looks at it; owned by the info. */
ProcessLook *web_locks_lock_info_get_look(WebLocksLockInfo *self);

/* Sets the properties, and emits "notify" for what has changed. Takes ownership of `text`; NULL:
 * there is no evidence. */
void
web_locks_lock_info_set_evidence(WebLocksLockInfo *self, WebLocksEvidence evidence, char *text);

/* Sets the bucket. `rank` is its place among the buckets of a monitor. */
void
web_locks_lock_info_set_manager(WebLocksLockInfo *self, WebLocksManager *manager, guint64 rank);

/* A copy of a pending request as the lock that has just been granted. */
WebLocksLockInfo *web_locks_lock_info_new_granted(WebLocksLockInfo *self, guint64 token);

/* A copy with another place in the queue, or a reference to the same object if it is the same. */
WebLocksLockInfo *web_locks_lock_info_new_queued(WebLocksLockInfo *self,
                                                 guint position,
                                                 const char *const *blocked_by);

/* The order of a monitor's lists: by bucket, then in the order in which they were requested. */
int web_locks_lock_info_compare(WebLocksLockInfo *self, WebLocksLockInfo *other);

/* Whether both describe the same lock or request, and nothing but its age has changed. */
gboolean web_locks_lock_info_is_unchanged(WebLocksLockInfo *self, WebLocksLockInfo *other);
