/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "lock-table.h"

/* The entries of one of the monitor's two lists: at each position the entry of the item there. */
typedef struct {
    ViewerLockTable *table;
    GListModel *infos;
    GListStore *entries;
} Side;

struct _ViewerLockTable {
    GObject parent_instance;
    WebLocksMonitor *monitor;
    GHashTable *resources; /* the set of all ViewerResource, by bucket and name */
    Side held;
    Side pending;
    ViewerResource *pinned; /* stays in `resources` while it is idle; or NULL */
    ViewerHistory *history;
    gboolean is_filled; /* from then on, what comes is an event */
};

G_DEFINE_FINAL_TYPE(ViewerLockTable, viewer_lock_table, G_TYPE_OBJECT)

/* ---- locks and resources */

static guint
hash_info(gconstpointer info)
{
    const guint64 id = web_locks_lock_info_get_id((WebLocksLockInfo *)info);

    return g_int64_hash(&id) ^
           g_str_hash(web_locks_lock_info_get_client_id((WebLocksLockInfo *)info));
}

static gboolean
is_same_lock(gconstpointer a, gconstpointer b)
{
    return web_locks_lock_info_get_id((WebLocksLockInfo *)a) ==
               web_locks_lock_info_get_id((WebLocksLockInfo *)b) &&
           g_str_equal(web_locks_lock_info_get_client_id((WebLocksLockInfo *)a),
                       web_locks_lock_info_get_client_id((WebLocksLockInfo *)b));
}

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
                           web_locks_lock_info_get_held(info) ? VIEWER_EVENT_GRANTED
                                                              : VIEWER_EVENT_WAITING,
                           entry);
    return entry;
}

/* Whether this request ends because it has been granted: the monitor changes the held locks first.
 */
static gboolean
is_granted(ViewerEntry *request)
{
    GListModel *holders = viewer_resource_get_holders(viewer_entry_get_resource(request));

    for (guint i = 0; i < g_list_model_get_n_items(holders); i++) {
        g_autoptr(ViewerEntry) holder = g_list_model_get_item(holders, i);

        if (is_same_lock(viewer_entry_get_info(holder), viewer_entry_get_info(request)))
            return TRUE;
    }
    return FALSE;
}

static void
end_entry(ViewerLockTable *self, ViewerEntry *entry)
{
    if (web_locks_lock_info_get_held(viewer_entry_get_info(entry)))
        viewer_history_add(self->history, VIEWER_EVENT_RELEASED, entry);
    else if (!is_granted(entry))
        viewer_history_add(self->history, VIEWER_EVENT_GONE, entry);
    viewer_entry_end(entry);
    if (viewer_resource_is_idle(viewer_entry_get_resource(entry)) &&
        viewer_entry_get_resource(entry) != self->pinned)
        g_hash_table_remove(self->resources, viewer_entry_get_resource(entry));
}

/* ---- following the monitor */

/* Removes those of the `removed` entries at `position` that are not in `now`, last ones first.
 * Returns how many stay. */
static guint
remove_old(GListStore *entries, guint position, guint removed, GPtrArray *now)
{
    g_autoptr(GHashTable) staying = g_hash_table_new(NULL, NULL);
    guint n_run = 0, n_staying = removed;

    for (guint i = 0; i < now->len; i++)
        g_hash_table_add(staying, now->pdata[i]);
    for (guint i = removed; i-- > 0;) {
        g_autoptr(GObject) entry = g_list_model_get_item(G_LIST_MODEL(entries), position + i);
        const gboolean stays = g_hash_table_contains(staying, entry);

        if (!stays)
            n_run++;
        if (n_run > 0 && (stays || i == 0)) {
            g_list_store_splice(entries, stays ? position + i + 1 : position, n_run, NULL, 0);
            n_staying -= n_run;
            n_run = 0;
        }
    }
    return n_staying;
}

/* Replaces `removed` entries at `position` by those in `now`. Those that stay are not touched, so
 * that the list does not lose its scroll position or what is expanded, and shows only what is new.
 */
static void
splice(GListStore *entries, guint position, guint removed, GPtrArray *now)
{
    guint n_left = remove_old(entries, position, removed, now);

    for (guint i = 0; i < now->len;) {
        g_autoptr(GObject) next =
            n_left > 0 ? g_list_model_get_item(G_LIST_MODEL(entries), position + i) : NULL;
        guint end = i;

        while (end < now->len && now->pdata[end] != (gpointer)next)
            end++;
        if (end == now->len && n_left > 0) {
            /* In another order, which does not happen. */
            g_list_store_splice(entries, position + i, n_left, now->pdata + i, now->len - i);
            return;
        }
        if (end > i)
            g_list_store_splice(entries, position + i, 0, now->pdata + i, end - i);
        i = end;
        if (n_left > 0) {
            n_left--;
            i++;
        }
    }
}

static void
on_items_changed(Side *side, guint position, guint removed, guint added, GListModel *infos)
{
    g_autoptr(GHashTable) before =
        g_hash_table_new_full(hash_info, is_same_lock, NULL, g_object_unref);
    g_autoptr(GPtrArray) now = g_ptr_array_new_with_free_func(g_object_unref);
    GHashTableIter iter;
    gpointer entry;

    for (guint i = 0; i < removed; i++) {
        ViewerEntry *old = g_list_model_get_item(G_LIST_MODEL(side->entries), position + i);

        g_hash_table_insert(before, viewer_entry_get_info(old), old);
    }
    for (guint i = 0; i < added; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, position + i);
        gpointer key, known;

        if (g_hash_table_steal_extended(before, info, &key, &known)) {
            viewer_entry_set_info(known, info);
            g_ptr_array_add(now, known);
        } else {
            g_ptr_array_add(now, NULL);
        }
    }
    g_hash_table_iter_init(&iter, before);
    while (g_hash_table_iter_next(&iter, NULL, &entry))
        end_entry(side->table, entry);
    for (guint i = 0; i < added; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(infos, position + i);

        if (now->pdata[i] == NULL)
            now->pdata[i] = add_entry(side->table, info);
    }
    splice(side->entries, position, removed, now);
}

static void
side_init(Side *self, ViewerLockTable *table, GListModel *infos)
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

GListModel *
viewer_lock_table_get_held(ViewerLockTable *self)
{
    return G_LIST_MODEL(self->held.entries);
}

GListModel *
viewer_lock_table_get_pending(ViewerLockTable *self)
{
    return G_LIST_MODEL(self->pending.entries);
}

ViewerHistory *
viewer_lock_table_get_history(ViewerLockTable *self)
{
    return self->history;
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
    self->history = viewer_history_new();
    self->held.entries = g_list_store_new(VIEWER_TYPE_ENTRY);
    self->pending.entries = g_list_store_new(VIEWER_TYPE_ENTRY);
}
