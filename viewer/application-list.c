/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "application-list.h"

#include "common/sorted-list.h"

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

static gboolean
is_wanted(const ViewerApplicationList *self, ViewerEntry *entry)
{
    const ViewerShow excluding = entry->is_held ? VIEWER_SHOW_WAITING : VIEWER_SHOW_HELD;

    return !entry->has_ended && self->show != excluding && viewer_entry_matches(entry, self->words);
}

void
viewer_application_list_update(ViewerApplicationList *self, GPtrArray *entries)
{
    g_autoptr(GPtrArray) new = g_ptr_array_new(), old = g_ptr_array_new();

    for (guint i = 0; i < entries->len; i++) {
        ViewerEntry *entry = entries->pdata[i];
        const gboolean was_shown = entry->is_shown;

        entry->is_shown = is_wanted(self, entry);
        if (entry->is_shown != was_shown)
            g_ptr_array_add(was_shown ? old : new, entry);
    }
    change(self, new, sorted_list_insert);
    change(self, old, sorted_list_remove);
}

ViewerApplicationList *
viewer_application_list_new(void)
{
    ViewerApplicationList *self = g_new0(ViewerApplicationList, 1);

    self->applications = g_list_store_new(VIEWER_TYPE_APPLICATION);
    self->words = g_strdup("");
    return self;
}

void
viewer_application_list_free(ViewerApplicationList *self)
{
    g_object_unref(self->applications);
    g_free(self->words);
    g_free(self);
}
