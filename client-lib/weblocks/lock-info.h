/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_LOCK_INFO (web_locks_lock_info_get_type())
G_DECLARE_FINAL_TYPE(WebLocksLockInfo, web_locks_lock_info, WEB_LOCKS, LOCK_INFO, GObject)

const char *web_locks_lock_info_get_name(WebLocksLockInfo *self);
WebLocksMode web_locks_lock_info_get_mode(WebLocksLockInfo *self);
gboolean web_locks_lock_info_get_held(WebLocksLockInfo *self);
const char *web_locks_lock_info_get_client_id(WebLocksLockInfo *self);
guint64 web_locks_lock_info_get_token(WebLocksLockInfo *self);
const char *web_locks_lock_info_get_why(WebLocksLockInfo *self);
const char *web_locks_lock_info_get_who(WebLocksLockInfo *self);
guint web_locks_lock_info_get_who_pid(WebLocksLockInfo *self);
guint web_locks_lock_info_get_pid(WebLocksLockInfo *self);
const char *web_locks_lock_info_get_process(WebLocksLockInfo *self);
guint64 web_locks_lock_info_get_id(WebLocksLockInfo *self);
gint64 web_locks_lock_info_get_since(WebLocksLockInfo *self);
const char *web_locks_lock_info_get_application(WebLocksLockInfo *self);
WebLocksManager *web_locks_lock_info_get_manager(WebLocksLockInfo *self);
guint web_locks_lock_info_get_uid(WebLocksLockInfo *self);
guint web_locks_lock_info_get_slots(WebLocksLockInfo *self);
guint web_locks_lock_info_get_position(WebLocksLockInfo *self);
const char *const *web_locks_lock_info_get_blocked_by(WebLocksLockInfo *self);

G_END_DECLS
