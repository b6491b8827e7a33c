/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_AGENT (web_locks_agent_get_type())
G_DECLARE_FINAL_TYPE(WebLocksAgent, web_locks_agent, WEB_LOCKS, AGENT, GObject)

WebLocksAgent *web_locks_agent_new(GBusType bus_type, const char *address);
WebLocksAgent *web_locks_agent_dup_default(GBusType bus_type);

const char *web_locks_agent_get_client_id(WebLocksAgent *self);
gboolean web_locks_agent_get_connected(WebLocksAgent *self);
gboolean web_locks_agent_get_service_running(WebLocksAgent *self);
void web_locks_agent_close(WebLocksAgent *self);

/**
 * WebLocksBatchFunc:
 * @user_data: the data that was passed to web_locks_agent_batch()
 *
 * A function that starts asynchronous operations.
 *
 * Since: 0.1
 */
typedef void (*WebLocksBatchFunc)(gpointer user_data);

void web_locks_agent_batch(WebLocksAgent *self, WebLocksBatchFunc function, gpointer user_data);

WebLocksManager *web_locks_agent_create_private_manager(WebLocksAgent *self);

void web_locks_agent_list_observable_async(WebLocksAgent *self,
                                           GCancellable *cancellable,
                                           GAsyncReadyCallback callback,
                                           gpointer user_data);
GPtrArray *
web_locks_agent_list_observable_finish(WebLocksAgent *self, GAsyncResult *result, GError **error);
GPtrArray *web_locks_agent_list_observable_sync(WebLocksAgent *self,
                                                GCancellable *cancellable,
                                                GError **error);

G_END_DECLS
