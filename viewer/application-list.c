/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "application-list.h"

#include "common/sorted-list.h"
#include "entry.h"

/* By application, in the order of the list. */
static int
compare_elements(gconstpointer a, gconstpointer b)
{
    ViewerEntry *x = *(ViewerEntry *const *)a, *y = *(ViewerEntry *const *)b;
    ViewerApplication *of_x = x->application;
    ViewerApplication *of_y = y->application;

    return of_x != of_y ? viewer_application_compare(of_x, of_y) : viewer_entry_compare(x, y);
}

typedef void (*Change)(GListStore *list, GPtrArray *items, SortedListCompare compare);

/* Inserts or removes the entries. An application is in the list while it has entries. */
static void
change(ViewerApplicationList *self, GPtrArray *entries, Change change_list)
{
    guint end;

    g_ptr_array_sort(entries, compare_elements);
    for (guint i = 0; i < entries->len; i = end) {
        ViewerApplication *application = VIEWER_ENTRY(entries->pdata[i])->application;
        GListStore *its = application->entries;
        const gboolean was_listed = g_list_model_get_n_items(G_LIST_MODEL(its)) > 0;
        g_autoptr(GPtrArray) part = g_ptr_array_new(), one = g_ptr_array_new();

        for (end = i;
             end < entries->len && VIEWER_ENTRY(entries->pdata[end])->application == application;
             end++)
            g_ptr_array_add(part, entries->pdata[end]);
        change_list(its, part, viewer_entry_compare);
        g_ptr_array_add(one, application);
        if (was_listed != (g_list_model_get_n_items(G_LIST_MODEL(its)) > 0))
            change_list(self->applications, one, viewer_application_compare);
    }
}

/* An entry that is removed and added again stays, so that its row does. */
static void
on_items_changed(
    ViewerApplicationList *self, guint position, guint removed, guint added, GListModel *entries)
{
    g_autoptr(GHashTable) before = g_hash_table_new_full(NULL, NULL, g_object_unref, NULL);
    g_autoptr(GPtrArray) new = g_ptr_array_new();
    g_autoptr(GPtrArray) old = g_ptr_array_new();
    GHashTableIter iter;
    gpointer entry;

    for (guint i = 0; i < removed; i++)
        g_hash_table_add(before, g_object_ref(self->known->pdata[position + i]));
    if (removed > 0)
        g_ptr_array_remove_range(self->known, position, removed);
    for (guint i = 0; i < added; i++) {
        entry = g_list_model_get_item(entries, position + i);
        g_ptr_array_insert(self->known, (int)(position + i), entry);
        if (!g_hash_table_remove(before, entry))
            g_ptr_array_add(new, entry);
    }
    g_hash_table_iter_init(&iter, before);
    while (g_hash_table_iter_next(&iter, &entry, NULL))
        g_ptr_array_add(old, entry);
    change(self, new, sorted_list_insert);
    change(self, old, sorted_list_remove);
}

ViewerApplicationList *
viewer_application_list_new(GListModel *entries)
{
    ViewerApplicationList *self = g_new(ViewerApplicationList, 1);

    self->entries = g_object_ref(entries);
    self->known = g_ptr_array_new_with_free_func(g_object_unref);
    self->applications = g_list_store_new(VIEWER_TYPE_APPLICATION);
    on_items_changed(self, 0, 0, g_list_model_get_n_items(entries), entries);
    g_signal_connect_swapped(entries, "items-changed", G_CALLBACK(on_items_changed), self);
    return self;
}

void
viewer_application_list_free(ViewerApplicationList *self)
{
    g_signal_handlers_disconnect_by_data(self->entries, self);
    change(self, self->known, sorted_list_remove);
    g_ptr_array_unref(self->known);
    g_object_unref(self->entries);
    g_object_unref(self->applications);
    g_free(self);
}
