/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A list model of the lock infos of Query, made from the bytes of the answer. An info becomes an
 * object when it is first asked for: of thousands of locks, most often few are looked at. */

#pragma once

#include <weblocks/weblocks.h>

/* The type of the body that these are made from. */
#define INFO_LIST_SIGNATURE "a(sss)a(sss)"

/* The two lists of a body of that type, in native byte order. FALSE: it is not well-formed. */
gboolean info_list_read(GBytes *body, GListModel **out_held, GListModel **out_pending);
