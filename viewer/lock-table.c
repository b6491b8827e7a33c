/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-table.h"

G_DEFINE_FINAL_TYPE(ViewerLockTable, viewer_lock_table, G_TYPE_OBJECT)

/* ---- entries and resources */

void
viewer_lock_table_pin(ViewerLockTable *self, ViewerResource *resource)
{
    g_set_object(&self->pinned, resource);
}

void
viewer_lock_table_unpin(ViewerLockTable *self)
{
    g_autoptr(ViewerResource) resource = g_steal_pointer(&self->pinned);

    if (resource != NULL && viewer_resource_is_idle(resource))
        g_hash_table_remove(self->resources, resource);
}

static ViewerEntry *
add_entry(ViewerLockTable *self, WebLocksLockInfo *info)
{
    g_autoptr(ViewerResource) resource = viewer_resource_new(
        self->monitor, web_locks_lock_info_get_manager(info), web_locks_lock_info_get_name(info));
    ViewerResource *known = g_hash_table_lookup(self->resources, resource);
    ViewerEntry *entry;

    if (known == NULL) {
        known = resource;
        g_hash_table_add(self->resources, g_object_ref(resource));
    }
    entry = viewer_entry_new(known, info);
    if (self->is_filled)
        viewer_history_add(self->history,
                           entry->is_held ? VIEWER_EVENT_GRANTED : VIEWER_EVENT_WAITING, entry);
    return entry;
}

/* A request whose item is held now has ended because it was granted. */
static void
end_entry(ViewerLockTable *self, ViewerEntry *entry)
{
    if (entry->is_held)
        viewer_history_add(self->history, VIEWER_EVENT_RELEASED, entry);
    else if (!web_locks_lock_info_get_held(entry->info))
        viewer_history_add(self->history, VIEWER_EVENT_GONE, entry);
    viewer_entry_end(entry);
    if (viewer_resource_is_idle(entry->resource) && entry->resource != self->pinned)
        g_hash_table_remove(self->resources, entry->resource);
}

/* ---- following the monitor */

static void
on_items_changed(
    ViewerLockTableSide *side, guint position, guint removed, guint added, GListModel *infos)
{
    g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint i = 0; i < removed; i++) {
        g_autoptr(ViewerEntry) entry =
            g_list_model_get_item(G_LIST_MODEL(side->entries), position + i);

        end_entry(side->table, entry);
    }
    for (guint i = 0; i < added; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, position + i);

        g_ptr_array_add(entries, add_entry(side->table, info));
    }
    g_list_store_splice(side->entries, position, removed, entries->pdata, added);
}

static void
side_init(ViewerLockTableSide *self, ViewerLockTable *table, GListModel *infos)
{
    self->table = table;
    self->infos = infos;
    on_items_changed(self, 0, 0, g_list_model_get_n_items(infos), infos);
    g_signal_connect_swapped(infos, "items-changed", G_CALLBACK(on_items_changed), self);
}

ViewerLockTable *
viewer_lock_table_new(WebLocksMonitor *monitor)
{
    ViewerLockTable *self = g_object_new(VIEWER_TYPE_LOCK_TABLE, NULL);

    self->monitor = g_object_ref(monitor);
    side_init(&self->held, self, web_locks_monitor_get_held(monitor));
    side_init(&self->pending, self, web_locks_monitor_get_pending(monitor));
    self->is_filled = TRUE;
    return self;
}

/* ---- GObject */

static void
viewer_lock_table_finalize(GObject *object)
{
    ViewerLockTable *self = VIEWER_LOCK_TABLE(object);
    GHashTableIter iter;
    gpointer resource;

    if (self->monitor != NULL) {
        g_signal_handlers_disconnect_by_data(self->held.infos, &self->held);
        g_signal_handlers_disconnect_by_data(self->pending.infos, &self->pending);
    }
    g_hash_table_iter_init(&iter, self->resources);
    while (g_hash_table_iter_next(&iter, &resource, NULL))
        viewer_resource_clear(resource);
    g_clear_object(&self->monitor);
    g_clear_object(&self->pinned);
    g_object_unref(self->held.entries);
    g_object_unref(self->pending.entries);
    g_hash_table_unref(self->resources);
    g_object_unref(self->history);
    G_OBJECT_CLASS(viewer_lock_table_parent_class)->finalize(object);
}

static void
viewer_lock_table_class_init(ViewerLockTableClass *class)
{
    G_OBJECT_CLASS(class)->finalize = viewer_lock_table_finalize;
}

static void
viewer_lock_table_init(ViewerLockTable *self)
{
    self->resources =
        g_hash_table_new_full(viewer_resource_hash, viewer_resource_equal, g_object_unref, NULL);
    self->history = g_list_store_new(VIEWER_TYPE_EVENT);
    self->held.entries = g_list_store_new(VIEWER_TYPE_ENTRY);
    self->pending.entries = g_list_store_new(VIEWER_TYPE_ENTRY);
}
