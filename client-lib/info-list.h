/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A list model of WebLocksLockInfo that reads the reply to Query in place. An item becomes an
 * object when it is first accessed, since applications usually look at few of thousands of locks.
 */

#pragma once

#include <weblocks/weblocks.h>

/* The signature of the reply's body. */
#define INFO_LIST_SIGNATURE "a(sss)a(sss)"

/* Creates the two lists, owned by the caller, from a body with this signature in native byte order.
 * They hold references to `body`. Returns FALSE if the body is not well-formed. */
gboolean info_list_read(GBytes *body, GListModel **out_held, GListModel **out_pending);

/* The type of the lists. */
GType info_list_get_type(void);
