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
 * The name of the bucket that all editors share for the documents that they have open: see
 * [func@WebLocks.document_name_for_file].
 *
 * Since: 0.1
 */
#define WEB_LOCKS_DOCUMENTS_BUCKET "documents"

WEB_LOCKS_PUBLIC
char *web_locks_document_name_for_file(GFile *file);

G_END_DECLS
