/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_LOCK (web_locks_lock_get_type())
G_DECLARE_FINAL_TYPE(WebLocksLock, web_locks_lock, WEB_LOCKS, LOCK, GObject)

const char *web_locks_lock_get_name(WebLocksLock *self);
WebLocksMode web_locks_lock_get_mode(WebLocksLock *self);
guint64 web_locks_lock_get_token(WebLocksLock *self);
gboolean web_locks_lock_get_held(WebLocksLock *self);
gboolean web_locks_lock_get_wanted(WebLocksLock *self);
const GError *web_locks_lock_get_error(WebLocksLock *self);

void web_locks_lock_release(WebLocksLock *self);
void web_locks_lock_release_async(WebLocksLock *self,
                                  GCancellable *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer user_data);
gboolean web_locks_lock_release_finish(WebLocksLock *self, GAsyncResult *result, GError **error);
gboolean web_locks_lock_release_sync(WebLocksLock *self, GCancellable *cancellable, GError **error);

void web_locks_lock_downgrade_async(WebLocksLock *self,
                                    GCancellable *cancellable,
                                    GAsyncReadyCallback callback,
                                    gpointer user_data);
gboolean web_locks_lock_downgrade_finish(WebLocksLock *self, GAsyncResult *result, GError **error);
gboolean
web_locks_lock_downgrade_sync(WebLocksLock *self, GCancellable *cancellable, GError **error);

G_END_DECLS
