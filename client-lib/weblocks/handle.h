/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_HANDLE (web_locks_handle_get_type())
G_DECLARE_FINAL_TYPE(WebLocksHandle, web_locks_handle, WEB_LOCKS, HANDLE, GObject)

WebLocksHandle *
web_locks_manager_prepare(WebLocksManager *self, const char *name, WebLocksOptions *options);

WebLocksManager *web_locks_handle_get_manager(WebLocksHandle *self);
const char *web_locks_handle_get_name(WebLocksHandle *self);
guint64 web_locks_handle_get_token(WebLocksHandle *self);
gboolean web_locks_handle_get_entered(WebLocksHandle *self);
gboolean web_locks_handle_get_held(WebLocksHandle *self);
GError *web_locks_handle_get_error(WebLocksHandle *self);

void web_locks_handle_enter_async(WebLocksHandle *self,
                                  GCancellable *cancellable,
                                  GAsyncReadyCallback callback,
                                  gpointer user_data);
gboolean web_locks_handle_enter_finish(WebLocksHandle *self, GAsyncResult *result, GError **error);
gboolean
web_locks_handle_enter_sync(WebLocksHandle *self, GCancellable *cancellable, GError **error);
void web_locks_handle_leave(WebLocksHandle *self);

void
web_locks_handle_exit(WebLocksHandle *self, GCallback raised, gpointer user_data, GError **error);
gboolean web_locks_handle_try_enter(WebLocksHandle *self);
WebLocksRequest *web_locks_handle_request(WebLocksHandle *self, GCancellable *cancellable);
gboolean web_locks_handle_take(WebLocksHandle *self, WebLocksRequest *request, GError **error);

G_END_DECLS
