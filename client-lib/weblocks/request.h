/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

#define WEB_LOCKS_TYPE_REQUEST (web_locks_request_get_type())
G_DECLARE_FINAL_TYPE(WebLocksRequest, web_locks_request, WEB_LOCKS, REQUEST, GObject)

WebLocksRequest *web_locks_request_new(WebLocksManager *manager,
                                       const char *name,
                                       WebLocksOptions *options,
                                       GCancellable *cancellable);
gboolean web_locks_request_wait(WebLocksRequest *self);
WebLocksLock *web_locks_request_finish(WebLocksRequest *self, GError **error);

G_END_DECLS
