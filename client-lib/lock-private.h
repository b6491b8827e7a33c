/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Functions of WebLocksLock that are private to the library.
 *
 * A WebLocksLock owns a reference to its Request, which creates it and notifies it of changes by
 * the functions of engine/request.h. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/request.h"

Request *web_locks_lock_get_request(WebLocksLock *self);

/* With the session lock held: the handle, or NULL, whose lock this is, and which is notified of a
 * loss. From begin_loss() to the end of lose() it exists, even if its last reference is dropped;
 * see run_notification() in engine/held-lock.c. */
void web_locks_lock_set_handle(WebLocksLock *self, WebLocksHandle *handle);
void web_locks_handle_begin_loss(WebLocksHandle *handle);
void web_locks_handle_lose(WebLocksHandle *handle, const GError *error);
