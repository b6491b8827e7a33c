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

/* The position of `item` in a list that is sorted by `compare`. */
static gboolean
find_sorted(GListStore *store, gpointer item, GCompareDataFunc compare, guint *position)
{
    guint low = 0, high = g_list_model_get_n_items(G_LIST_MODEL(store));

    while (low < high) {
        const guint middle = low + (high - low) / 2;
        g_autoptr(GObject) other = g_list_model_get_item(G_LIST_MODEL(store), middle);
        const int order = compare(item, other, NULL);

        if (order == 0) {
            *position = middle;
            return TRUE;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return FALSE;
}

static void
add(ViewerApplicationList *self, ViewerEntry *entry)
{
    ViewerApplication *application = viewer_entry_get_application(entry);
    GListStore *its = viewer_application_get_entries(application);

    g_list_store_insert_sorted(its, entry, compare_entries, NULL);
    if (g_list_model_get_n_items(G_LIST_MODEL(its)) == 1)
        g_list_store_insert_sorted(self->applications, application, compare_applications, NULL);
}

static void
drop(ViewerApplicationList *self, ViewerEntry *entry)
{
    ViewerApplication *application = viewer_entry_get_application(entry);
    GListStore *its = viewer_application_get_entries(application);
    guint position;

    if (find_sorted(its, entry, compare_entries, &position))
        g_list_store_remove(its, position);
    if (g_list_model_get_n_items(G_LIST_MODEL(its)) == 0 &&
        find_sorted(self->applications, application, compare_applications, &position))
        g_list_store_remove(self->applications, position);
}

static void
on_items_changed(
    ViewerApplicationList *self, guint position, guint removed, guint added, GListModel *entries)
{
    g_autoptr(GPtrArray) before = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint i = 0; i < removed; i++)
        g_ptr_array_add(before, g_object_ref(self->known->pdata[position + i]));
    if (removed > 0)
        g_ptr_array_remove_range(self->known, position, removed);
    for (guint i = 0; i < added; i++) {
        ViewerEntry *entry = g_list_model_get_item(entries, position + i);

        g_ptr_array_insert(self->known, (int)(position + i), entry);
        add(self, entry);
    }
    for (guint i = 0; i < before->len; i++)
        drop(self, before->pdata[i]);
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
    for (guint i = 0; i < self->known->len; i++)
        drop(self, self->known->pdata[i]);
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
