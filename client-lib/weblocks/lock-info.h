/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_LOCK_INFO (web_locks_lock_info_get_type())
WEB_LOCKS_PUBLIC
G_DECLARE_FINAL_TYPE(WebLocksLockInfo, web_locks_lock_info, WEB_LOCKS, LOCK_INFO, GObject)

WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_name(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
WebLocksMode web_locks_lock_info_get_mode(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
gboolean web_locks_lock_info_get_held(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_client_id(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint64 web_locks_lock_info_get_token(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_why(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_who(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_who_pid(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_pid(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_process(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint64 web_locks_lock_info_get_id(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
gint64 web_locks_lock_info_get_since(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_application(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
WebLocksManager *web_locks_lock_info_get_manager(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_uid(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_slots(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_position(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *const *web_locks_lock_info_get_blocked_by(WebLocksLockInfo *self);

G_END_DECLS
