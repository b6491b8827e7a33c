/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksLock that are private to the library.
 *
 * A WebLocksLock owns a reference to its Request, which notifies it of a loss or a downgrade by
 * `web_locks_lock_funcs`. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/request.h"

/* Creates a WebLocksLock for a granted request, and notifies it of a loss, a downgrade, and of who
 * waits. */
extern const RequestFuncs web_locks_lock_funcs;
gpointer web_locks_lock_new(Request *take_request);
void web_locks_lock_change(gpointer lock, RequestChanges changes);
gboolean web_locks_lock_listens(gpointer lock);
Request *web_locks_lock_get_request(WebLocksLock *self);

/* With the session lock held: the handle, or NULL, whose lock this is, and which is notified of a
 * loss. */
void web_locks_lock_set_handle(WebLocksLock *self, WebLocksHandle *handle);
void web_locks_handle_lose(WebLocksHandle *handle, const GError *error);
