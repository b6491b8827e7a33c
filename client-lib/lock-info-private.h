/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the library makes lock infos. */

#pragma once

#include <weblocks/weblocks.h>

/* From one entry of Query. */
WebLocksLockInfo *web_locks_lock_info_new_from_query(const char *name,
                                                     const char *mode,
                                                     const char *client_id,
                                                     gboolean held);

/* From one entry of Inspect: "a{sv}". NULL: it is not of this contract. */
WebLocksLockInfo *web_locks_lock_info_new_from_inspect(GVariant *entry, guint64 *out_cursor);

/* Sets the bucket. */
void web_locks_lock_info_set_manager(WebLocksLockInfo *self, WebLocksManager *manager);

/* The key of the request, if it is one of the caller; otherwise 0. */
guint64 web_locks_lock_info_get_key(WebLocksLockInfo *self);

/* Whether both describe the same request, with equal properties. */
gboolean web_locks_lock_info_equal(WebLocksLockInfo *self, WebLocksLockInfo *other);

/* Whether both describe the same lock or request, and nothing but its age has changed. */
gboolean web_locks_lock_info_is_unchanged(WebLocksLockInfo *self, WebLocksLockInfo *other);
