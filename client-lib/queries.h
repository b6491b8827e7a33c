/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The call of one page of Inspect and the decoding of its reply, for monitors. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/method-call.h"

/* The call for the page after the cursor `after`; `name` may be NULL: all names. */
MethodCallMessage inspect_page_build(WebLocksManager *manager, const char *name, guint64 after);

/* Returns an owned array of WebLocksLockInfo and whether there are more pages, and moves the cursor
 * to the last entry of this host; or returns NULL and an error. */
GPtrArray *
inspect_page_read(GVariant *body, guint64 *inout_after, gboolean *out_more, GError **error);
