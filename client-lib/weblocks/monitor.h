/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_MONITOR (web_locks_monitor_get_type())
G_DECLARE_FINAL_TYPE(WebLocksMonitor, web_locks_monitor, WEB_LOCKS, MONITOR, GObject)

void web_locks_monitor_new_async(WebLocksManager *manager,
                                 GCancellable *cancellable,
                                 GAsyncReadyCallback callback,
                                 gpointer user_data);
WebLocksMonitor *web_locks_monitor_new_finish(GAsyncResult *result, GError **error);
WebLocksMonitor *
web_locks_monitor_new_sync(WebLocksManager *manager, GCancellable *cancellable, GError **error);

void web_locks_monitor_new_all_async(WebLocksAgent *agent,
                                     GCancellable *cancellable,
                                     GAsyncReadyCallback callback,
                                     gpointer user_data);
WebLocksMonitor *web_locks_monitor_new_all_finish(GAsyncResult *result, GError **error);
WebLocksMonitor *
web_locks_monitor_new_all_sync(WebLocksAgent *agent, GCancellable *cancellable, GError **error);

WebLocksMonitor *
web_locks_monitor_new_for_name(WebLocksManager *manager, const char *name, GError **error);

WebLocksManager *web_locks_monitor_get_manager(WebLocksMonitor *self);
GListModel *web_locks_monitor_get_held(WebLocksMonitor *self);
GListModel *web_locks_monitor_get_pending(WebLocksMonitor *self);

G_END_DECLS
