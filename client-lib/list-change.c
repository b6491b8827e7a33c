/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/list-change.h"

#include "client-lib/lock-info-private.h"

/* If the items that change are further from each other, the others between them stay in place, so
 * that a view keeps its position. */
#define RANGE_MAX 100

static void
clear(gpointer data)
{
    ListChange *self = data;

    g_clear_object(&self->before);
    g_clear_object(&self->now);
}

GArray *
list_changes_new(void)
{
    GArray *changes = g_array_new(FALSE, FALSE, sizeof(ListChange));

    g_array_set_clear_func(changes, clear);
    return changes;
}

/* The index of `info`, or that at which it has to be inserted. */
static guint
find_place(GListStore *store, WebLocksLockInfo *info)
{
    GListModel *list = G_LIST_MODEL(store);
    guint first = 0, end = g_list_model_get_n_items(list);

    while (first < end) {
        guint middle = first + (end - first) / 2;
        g_autoptr(WebLocksLockInfo) item = g_list_model_get_item(list, middle);

        if (web_locks_lock_info_compare(item, info) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* The index of `info`, which is in the list. */
static guint
find_item(GListStore *store, WebLocksLockInfo *info)
{
    guint at = find_place(store, info);

    for (;; at++) {
        g_autoptr(WebLocksLockInfo) item = g_list_model_get_item(G_LIST_MODEL(store), at);

        if (item == info || item == NULL)
            return at;
    }
}

/* What changes in one of the lists. */
typedef struct {
    GListStore *store;
    GHashTable *removed; /* of items of the list; borrowed */
    GPtrArray *added;    /* sorted */
} Update;

static void
update_init(Update *self, GListStore *store, GArray *changes, gboolean is_held)
{
    self->store = store;
    self->removed = g_hash_table_new(NULL, NULL);
    self->added = g_ptr_array_new_with_free_func(g_object_unref);
    for (guint i = 0; i < changes->len; i++) {
        const ListChange *change = &g_array_index(changes, ListChange, i);

        if (change->before != NULL && web_locks_lock_info_get_held(change->before) == is_held &&
            !g_ptr_array_remove(self->added, change->before))
            g_hash_table_add(self->removed, change->before);
        if (change->now != NULL && web_locks_lock_info_get_held(change->now) == is_held)
            g_ptr_array_add(self->added, g_object_ref(change->now));
    }
}

static void
update_clear(Update *self)
{
    g_hash_table_unref(self->removed);
    g_ptr_array_unref(self->added);
}

static int
compare_infos(gconstpointer a, gconstpointer b)
{
    return web_locks_lock_info_compare(*(WebLocksLockInfo *const *)a,
                                       *(WebLocksLockInfo *const *)b);
}

/* The part of the list in which everything changes. */
static void
find_range(const Update *self, guint *out_first, guint *out_end)
{
    GHashTableIter iter;
    gpointer info;
    guint first = G_MAXUINT, end = 0;

    g_hash_table_iter_init(&iter, self->removed);
    while (g_hash_table_iter_next(&iter, &info, NULL)) {
        guint at = find_item(self->store, info);

        first = MIN(first, at);
        end = MAX(end, at + 1);
    }
    for (guint i = 0; i < self->added->len; i++) {
        guint at = find_place(self->store, self->added->pdata[i]);

        first = MIN(first, at);
        end = MAX(end, at);
    }
    *out_first = first;
    *out_end = end;
}

static void
replace_range(const Update *self, guint first, guint end)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_object_unref);
    guint next = 0;

    for (guint at = first; at < end; at++) {
        g_autoptr(WebLocksLockInfo) item = g_list_model_get_item(G_LIST_MODEL(self->store), at);

        for (; next < self->added->len; next++) {
            WebLocksLockInfo *added = self->added->pdata[next];

            if (web_locks_lock_info_compare(added, item) >= 0)
                break;
            g_ptr_array_add(items, g_object_ref(added));
        }
        if (!g_hash_table_contains(self->removed, item))
            g_ptr_array_add(items, g_steal_pointer(&item));
    }
    for (; next < self->added->len; next++)
        g_ptr_array_add(items, g_object_ref(self->added->pdata[next]));
    g_list_store_splice(self->store, first, end - first, items->pdata, items->len);
}

static void
replace_each(const Update *self)
{
    GHashTableIter iter;
    gpointer info;

    g_hash_table_iter_init(&iter, self->removed);
    while (g_hash_table_iter_next(&iter, &info, NULL))
        g_list_store_remove(self->store, find_item(self->store, info));
    for (guint i = 0; i < self->added->len; i++)
        g_list_store_insert(self->store, find_place(self->store, self->added->pdata[i]),
                            self->added->pdata[i]);
}

static void
apply(GArray *changes, GListStore *store, gboolean is_held)
{
    Update update;
    guint first, end;

    update_init(&update, store, changes, is_held);
    g_ptr_array_sort(update.added, compare_infos);
    if (update.added->len > 0 || g_hash_table_size(update.removed) > 0) {
        find_range(&update, &first, &end);
        if (end - first <= RANGE_MAX)
            replace_range(&update, first, end);
        else
            replace_each(&update);
    }
    update_clear(&update);
}

void
list_changes_apply(GArray *self, GListStore *held, GListStore *pending)
{
    apply(self, held, TRUE);
    apply(self, pending, FALSE);
}
