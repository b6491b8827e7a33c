/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_MANAGER (web_locks_manager_get_type())
G_DECLARE_FINAL_TYPE(WebLocksManager, web_locks_manager, WEB_LOCKS, MANAGER, GObject)

WebLocksManager *web_locks_manager_new(WebLocksAgent *agent, const char *bucket);

WebLocksAgent *web_locks_manager_get_agent(WebLocksManager *self);
const char *web_locks_manager_get_bucket(WebLocksManager *self);
const char *web_locks_manager_get_application(WebLocksManager *self);
guint web_locks_manager_get_uid(WebLocksManager *self);
gboolean web_locks_manager_get_observed(WebLocksManager *self);

void web_locks_manager_request_async(WebLocksManager *self,
                                     const char *name,
                                     WebLocksOptions *options,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
WebLocksLock *
web_locks_manager_request_finish(WebLocksManager *self, GAsyncResult *result, GError **error);
WebLocksLock *web_locks_manager_request_sync(WebLocksManager *self,
                                             const char *name,
                                             WebLocksOptions *options,
                                             GCancellable *cancellable,
                                             GError **error);

void web_locks_manager_request_many_async(WebLocksManager *self,
                                          const char *const *names,
                                          WebLocksOptions *options,
                                          GCancellable *cancellable,
                                          GAsyncReadyCallback callback,
                                          gpointer user_data);
GPtrArray *
web_locks_manager_request_many_finish(WebLocksManager *self, GAsyncResult *result, GError **error);
GPtrArray *web_locks_manager_request_many_sync(WebLocksManager *self,
                                               const char *const *names,
                                               WebLocksOptions *options,
                                               GCancellable *cancellable,
                                               GError **error);

void web_locks_manager_query_async(WebLocksManager *self,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data);
WebLocksSnapshot *
web_locks_manager_query_finish(WebLocksManager *self, GAsyncResult *result, GError **error);
WebLocksSnapshot *
web_locks_manager_query_sync(WebLocksManager *self, GCancellable *cancellable, GError **error);

void web_locks_manager_inspect_async(WebLocksManager *self,
                                     const char *name,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
WebLocksSnapshot *
web_locks_manager_inspect_finish(WebLocksManager *self, GAsyncResult *result, GError **error);
WebLocksSnapshot *web_locks_manager_inspect_sync(WebLocksManager *self,
                                                 const char *name,
                                                 GCancellable *cancellable,
                                                 GError **error);

void web_locks_manager_break_async(WebLocksManager *self,
                                   const char *name,
                                   WebLocksLockInfo *info,
                                   GCancellable *cancellable,
                                   GAsyncReadyCallback callback,
                                   gpointer user_data);
int web_locks_manager_break_finish(WebLocksManager *self, GAsyncResult *result, GError **error);
int web_locks_manager_break_sync(WebLocksManager *self,
                                 const char *name,
                                 WebLocksLockInfo *info,
                                 GCancellable *cancellable,
                                 GError **error);

G_END_DECLS
