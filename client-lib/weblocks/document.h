/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

/**
 * WEB_LOCKS_DOCUMENTS_BUCKET:
 *
 * The name of the bucket that all editors of a user share for the documents that they have open,
 * outside of sandboxes: see [method@WebLocks.Agent.open_document_async].
 *
 * Since: 0.1
 */
#define WEB_LOCKS_DOCUMENTS_BUCKET "documents"

void web_locks_agent_open_document_async(WebLocksAgent *self,
                                         GFile *file,
                                         GCancellable *cancellable,
                                         GAsyncReadyCallback callback,
                                         gpointer user_data);
WebLocksManager *web_locks_agent_open_document_finish(
    WebLocksAgent *self, GAsyncResult *result, char **name, gboolean *excludes_all, GError **error);

G_END_DECLS
