/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A list model of WebLocksLockInfo from the reply to Query. An item becomes an object when it is
 * first accessed, since applications usually look at few of thousands of locks. */

#pragma once

#include <weblocks/weblocks.h>

/* Returns a new list of `entries`, which are "a(sss)": names, modes and client ids. */
GListModel *info_list_new(GVariant *entries, gboolean held);

/* The type of the lists. */
GType info_list_get_type(void);
