/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Changes of list stores that are sorted.
 *
 * Items that are next to each other are inserted or removed together, since a view looks at all its
 * rows after each change of its model. An item that is not in the array is not touched, so its row
 * stays where it is. `items` is sorted by `compare`, whose order is total and never changes. */

#pragma once

#include <gio/gio.h>

/* How `item` compares with `other`: less than 0 if it comes before it. */
typedef int (*SortedListCompare)(gpointer item, gpointer other);

void sorted_list_insert(GListStore *list, GPtrArray *items, SortedListCompare compare);
/* All of the items are in the list. */
void sorted_list_remove(GListStore *list, GPtrArray *items, SortedListCompare compare);
