/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_REQUEST (web_locks_request_get_type())
WEB_LOCKS_PUBLIC
G_DECLARE_FINAL_TYPE(WebLocksRequest, web_locks_request, WEB_LOCKS, REQUEST, GObject)

WEB_LOCKS_PUBLIC
WebLocksRequest *
web_locks_request_new(WebLocksManager *manager, const char *name, WebLocksOptions *options);

WEB_LOCKS_PUBLIC
WebLocksManager *web_locks_request_get_manager(WebLocksRequest *self);
WEB_LOCKS_PUBLIC
const char *web_locks_request_get_name(WebLocksRequest *self);
WEB_LOCKS_PUBLIC
WebLocksOptions *web_locks_request_get_options(WebLocksRequest *self);
WEB_LOCKS_PUBLIC
WebLocksLockInfo *web_locks_request_get_holder(WebLocksRequest *self);
WEB_LOCKS_PUBLIC
guint web_locks_request_get_position(WebLocksRequest *self);

WEB_LOCKS_PUBLIC
void web_locks_request_acquire_async(WebLocksRequest *self,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
WEB_LOCKS_PUBLIC
WebLocksLock *
web_locks_request_acquire_finish(WebLocksRequest *self, GAsyncResult *result, GError **error);

G_END_DECLS
