/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-table.h"

#include "history.h"

/* ---- entries */

static void
record(ViewerLockTable *self, ViewerEventKind kind, ViewerEntry *entry)
{
    if (self->has_history)
        viewer_history_add(self->history, kind, entry);
}

static ViewerEntry *
add_entry(ViewerLockTable *self, WebLocksLockInfo *info)
{
    ViewerEntry *entry = viewer_entry_new(self->monitor, info);

    record(self, entry->is_held ? VIEWER_EVENT_GRANTED : VIEWER_EVENT_WAITING, entry);
    return entry;
}

/* A request whose item is held now has ended because it was granted. */
static void
end_entry(ViewerLockTable *self, ViewerEntry *entry)
{
    if (entry->is_held)
        record(self, VIEWER_EVENT_RELEASED, entry);
    else if (!web_locks_lock_info_get_held(entry->info))
        record(self, VIEWER_EVENT_GONE, entry);
    viewer_entry_end(entry);
}

/* ---- following the monitor */

static void
on_items_changed(
    ViewerLockTableSide *side, guint position, guint removed, guint added, GListModel *infos)
{
    g_autoptr(GPtrArray) changed = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint i = 0; i < added; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, position + i);

        g_ptr_array_add(changed, add_entry(side->table, info));
    }
    for (guint i = 0; i < removed; i++) {
        ViewerEntry *entry = g_list_model_get_item(G_LIST_MODEL(side->entries), position + i);

        end_entry(side->table, entry);
        g_ptr_array_add(changed, entry);
    }
    g_list_store_splice(side->entries, position, removed, changed->pdata, added);
    viewer_application_list_update(side->table->list, changed);
}

static void
side_init(ViewerLockTableSide *self, ViewerLockTable *table, GListModel *infos)
{
    self->table = table;
    self->infos = infos;
    self->entries = g_list_store_new(VIEWER_TYPE_ENTRY);
    on_items_changed(self, 0, 0, g_list_model_get_n_items(infos), infos);
    g_signal_connect_swapped(infos, "items-changed", G_CALLBACK(on_items_changed), self);
}

static void
side_clear(ViewerLockTableSide *self)
{
    g_signal_handlers_disconnect_by_data(self->infos, self);
    on_items_changed(self, 0, g_list_model_get_n_items(G_LIST_MODEL(self->entries)), 0, NULL);
    g_object_unref(self->entries);
}

ViewerLockTable *
viewer_lock_table_new(WebLocksMonitor *monitor, ViewerApplicationList *list)
{
    ViewerLockTable *self = g_new0(ViewerLockTable, 1);

    self->monitor = g_object_ref(monitor);
    self->list = list;
    self->history = g_list_store_new(VIEWER_TYPE_EVENT);
    side_init(&self->held, self, web_locks_monitor_get_held(monitor));
    side_init(&self->pending, self, web_locks_monitor_get_pending(monitor));
    self->has_history = TRUE;
    return self;
}

void
viewer_lock_table_free(ViewerLockTable *self)
{
    self->has_history = FALSE;
    side_clear(&self->held);
    side_clear(&self->pending);
    g_object_unref(self->history);
    g_object_unref(self->monitor);
    g_free(self);
}

void
viewer_lock_table_filter(ViewerLockTable *self)
{
    const ViewerLockTableSide *sides[] = {&self->held, &self->pending};
    g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint side = 0; side < G_N_ELEMENTS(sides); side++) {
        GListModel *list = G_LIST_MODEL(sides[side]->entries);

        for (guint i = 0; i < g_list_model_get_n_items(list); i++)
            g_ptr_array_add(entries, g_list_model_get_item(list, i));
    }
    viewer_application_list_update(self->list, entries);
}
