/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the rest of the library does with a WebLocksLock. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/engine/request.h"

/* How a request that is granted becomes a WebLocksLock. */
extern const RequestFuncs web_locks_lock_funcs;

/* Why it is not held; NULL while it is. */
GError *web_locks_lock_get_loss(WebLocksLock *self);

/* Releases it at once, without waiting for an answer. */
void web_locks_lock_drop(WebLocksLock *self);
