/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the library makes lock infos. */

#pragma once

#include <weblocks/weblocks.h>

#include "common/sd-bus.h"

/* From one entry of Query: "(sss)". NULL if it can't be read. */
WebLocksLockInfo *web_locks_lock_info_new_from_query(sd_bus_message *reply, gboolean held);

/* From one entry of Inspect: "a{sv}". NULL if it can't be read. */
WebLocksLockInfo *web_locks_lock_info_new_from_inspect(sd_bus_message *reply, guint64 *out_cursor);

/* Whether both tell the same of the same request. */
gboolean web_locks_lock_info_equal(WebLocksLockInfo *self, WebLocksLockInfo *other);
