/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "application-list.h"

#include "entry.h"

struct _ViewerApplicationList {
    GObject parent_instance;
    GListModel *entries;
    GPtrArray *known; /* the entries as they were at the last change */
    GListStore *applications;
};

G_DEFINE_FINAL_TYPE(ViewerApplicationList, viewer_application_list, G_TYPE_OBJECT)

static int
compare_entries(gconstpointer a, gconstpointer b, gpointer unused)
{
    return viewer_entry_compare((ViewerEntry *)a, (ViewerEntry *)b);
}

static int
compare_applications(gconstpointer a, gconstpointer b, gpointer unused)
{
    return viewer_application_compare((ViewerApplication *)a, (ViewerApplication *)b);
}

/* The position of `item` in a list that is sorted by `compare`, or that at which it has to be
 * inserted. */
static guint
find_place(GListStore *store, gpointer item, GCompareDataFunc compare)
{
    guint low = 0, high = g_list_model_get_n_items(G_LIST_MODEL(store));

    while (low < high) {
        const guint middle = low + (high - low) / 2;
        g_autoptr(GObject) other = g_list_model_get_item(G_LIST_MODEL(store), middle);

        if (compare(other, item, NULL) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- many entries at a time: a list view looks at all its rows after each change of its model */

static void
insert_all(GListStore *store, gpointer *entries, guint n_entries)
{
    for (guint i = 0; i < n_entries;) {
        const guint at = find_place(store, entries[i], compare_entries);
        g_autoptr(ViewerEntry) next = g_list_model_get_item(G_LIST_MODEL(store), at);
        guint end = i + 1;

        while (end < n_entries && (next == NULL || viewer_entry_compare(entries[end], next) < 0))
            end++;
        g_list_store_splice(store, at, 0, entries + i, end - i);
        i = end;
    }
}

static gboolean
is_at(GListStore *store, guint position, gpointer entry)
{
    g_autoptr(GObject) there = g_list_model_get_item(G_LIST_MODEL(store), position);

    return (gpointer)there == entry;
}

static void
remove_all(GListStore *store, gpointer *entries, guint n_entries)
{
    for (guint i = 0; i < n_entries;) {
        const guint at = find_place(store, entries[i], compare_entries);
        guint n = 0;

        while (i + n < n_entries && is_at(store, at + n, entries[i + n]))
            n++;
        g_return_if_fail(n > 0);
        g_list_store_splice(store, at, n, NULL, 0);
        i += n;
    }
}

/* By application, in the order of the list. */
static int
compare_elements(gconstpointer a, gconstpointer b)
{
    ViewerEntry *x = *(ViewerEntry *const *)a, *y = *(ViewerEntry *const *)b;
    ViewerApplication *of_x = viewer_entry_get_application(x);
    ViewerApplication *of_y = viewer_entry_get_application(y);

    return of_x != of_y ? viewer_application_compare(of_x, of_y) : viewer_entry_compare(x, y);
}

/* How many of the entries, from the one at `start` on, are of the same application. */
static guint
count_of_application(GPtrArray *entries, guint start)
{
    ViewerApplication *application = viewer_entry_get_application(entries->pdata[start]);
    guint n = 1;

    while (start + n < entries->len &&
           viewer_entry_get_application(entries->pdata[start + n]) == application)
        n++;
    return n;
}

static void
add(ViewerApplicationList *self, GPtrArray *entries)
{
    guint n;

    g_ptr_array_sort(entries, compare_elements);
    for (guint i = 0; i < entries->len; i += n) {
        ViewerApplication *application = viewer_entry_get_application(entries->pdata[i]);
        GListStore *its = viewer_application_get_entries(application);
        const gboolean is_new = g_list_model_get_n_items(G_LIST_MODEL(its)) == 0;

        n = count_of_application(entries, i);
        insert_all(its, entries->pdata + i, n);
        if (is_new)
            g_list_store_insert_sorted(self->applications, application, compare_applications, NULL);
    }
}

static void
drop(ViewerApplicationList *self, GPtrArray *entries)
{
    guint n;

    g_ptr_array_sort(entries, compare_elements);
    for (guint i = 0; i < entries->len; i += n) {
        ViewerApplication *application = viewer_entry_get_application(entries->pdata[i]);
        GListStore *its = viewer_application_get_entries(application);

        n = count_of_application(entries, i);
        remove_all(its, entries->pdata + i, n);
        if (g_list_model_get_n_items(G_LIST_MODEL(its)) == 0)
            g_list_store_remove(self->applications,
                                find_place(self->applications, application, compare_applications));
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
    add(self, new);
    drop(self, old);
}

ViewerApplicationList *
viewer_application_list_new(GListModel *entries)
{
    ViewerApplicationList *self = g_object_new(VIEWER_TYPE_APPLICATION_LIST, NULL);

    self->entries = g_object_ref(entries);
    on_items_changed(self, 0, 0, g_list_model_get_n_items(entries), entries);
    g_signal_connect_swapped(entries, "items-changed", G_CALLBACK(on_items_changed), self);
    return self;
}

GListModel *
viewer_application_list_get_model(ViewerApplicationList *self)
{
    return G_LIST_MODEL(self->applications);
}

static void
viewer_application_list_finalize(GObject *object)
{
    ViewerApplicationList *self = VIEWER_APPLICATION_LIST(object);

    if (self->entries != NULL)
        g_signal_handlers_disconnect_by_data(self->entries, self);
    drop(self, self->known);
    g_ptr_array_unref(self->known);
    g_clear_object(&self->entries);
    g_object_unref(self->applications);
    G_OBJECT_CLASS(viewer_application_list_parent_class)->finalize(object);
}

static void
viewer_application_list_class_init(ViewerApplicationListClass *class)
{
    G_OBJECT_CLASS(class)->finalize = viewer_application_list_finalize;
}

static void
viewer_application_list_init(ViewerApplicationList *self)
{
    self->known = g_ptr_array_new_with_free_func(g_object_unref);
    self->applications = g_list_store_new(VIEWER_TYPE_APPLICATION);
}
