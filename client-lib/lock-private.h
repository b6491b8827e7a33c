/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the rest of the library does with a WebLocksLock. */

#pragma once

#include <weblocks/weblocks.h>

#include "client-lib/hold.h"

/* The application's handle of a hold: when the last reference is gone, so is the lock. */
WebLocksLock *web_locks_lock_new(Hold *hold);

/* Why it is not held; NULL while it is. */
GError *web_locks_lock_get_loss(WebLocksLock *self);

/* Lets go at once, and waits for nothing. */
void web_locks_lock_drop(WebLocksLock *self);
