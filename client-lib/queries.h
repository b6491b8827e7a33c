/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The calls of Inspect and Observable and the decoding of their replies, for monitors. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/method-call.h"

/* The call for the page after the cursor `after`; `name` may be NULL: all names. */
BusMessage inspect_page_build(WebLocksManager *manager, const char *name, guint64 after);

/* Returns an owned array of WebLocksLockInfo and whether there are more pages, and moves the cursor
 * to the last entry of this host; or returns NULL and an error. */
GPtrArray *
inspect_page_read(GVariant *body, guint64 *inout_after, gboolean *out_more, GError **error);

/* For MethodCallKind.build and .read, with the agent as data: the result is an owned GPtrArray of
 * managers, one for each bucket. */
BusMessage observable_build(gpointer agent);
gpointer observable_read(GVariant *body, gpointer agent, GError **error);
