/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sorted-list.h"

/* The position of `item`, or that at which it has to be inserted. */
static guint
find_place(GListStore *list, gpointer item, SortedListCompare compare)
{
    guint low = 0, high = g_list_model_get_n_items(G_LIST_MODEL(list));

    while (low < high) {
        const guint middle = low + (high - low) / 2;
        g_autoptr(GObject) other = g_list_model_get_item(G_LIST_MODEL(list), middle);

        if (compare(other, item) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void
sorted_list_insert(GListStore *list, GPtrArray *items, SortedListCompare compare)
{
    guint end;

    for (guint i = 0; i < items->len; i = end) {
        const guint at = find_place(list, items->pdata[i], compare);
        g_autoptr(GObject) next = g_list_model_get_item(G_LIST_MODEL(list), at);

        for (end = i + 1; end < items->len; end++)
            if (next != NULL && compare(items->pdata[end], next) > 0)
                break;
        g_list_store_splice(list, at, 0, items->pdata + i, end - i);
    }
}

static gboolean
is_at(GListStore *list, guint position, gpointer item)
{
    g_autoptr(GObject) there = g_list_model_get_item(G_LIST_MODEL(list), position);

    return (gpointer)there == item;
}

void
sorted_list_remove(GListStore *list, GPtrArray *items, SortedListCompare compare)
{
    guint end;

    for (guint i = 0; i < items->len; i = end) {
        const guint at = find_place(list, items->pdata[i], compare);

        for (end = i; end < items->len && is_at(list, at + end - i, items->pdata[end]); end++)
            ;
        g_return_if_fail(end > i);
        g_list_store_splice(list, at, end - i, NULL, 0);
    }
}
