/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksRequest that are private to the library. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/completion.h"

/* Returns a request that `*out_caller` completes; it keeps `owner`, a GObject or NULL, alive. */
WebLocksRequest *web_locks_request_new_pending(WebLocksManager *manager,
                                               gpointer owner,
                                               GCancellable *cancellable,
                                               Caller *out_caller);

/* Whether it is that of new_pending(). */
gboolean web_locks_request_is_of(WebLocksRequest *self, gconstpointer owner);
