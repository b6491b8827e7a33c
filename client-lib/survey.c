/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/survey.h"

#include "client-lib/lock-info-private.h"
#include "client-lib/manager-private.h"
#include "client-lib/observe.h"
#include "client-lib/queries.h"
#include "client-lib/snapshot-private.h"
#include "common/bus-names.h"

/* If more buckets than these have changed since the last look, all are inspected. */
#define CHANGED_MAX 1024

typedef struct {
    WebLocksManager *manager;
    WebLocksSnapshot *snapshot; /* NULL: to be inspected */
} Part;

struct Survey {
    WebLocksAgent *agent;     /* borrowed */
    WebLocksManager *manager; /* borrowed; NULL: all buckets */
    const char *name;         /* borrowed; NULL: all names */
    Inspection *inspection;   /* the Inspect that is going on */

    /* Of all buckets. */
    GPtrArray *parts;        /* of Part, in the order of Observable */
    guint at;                /* the part that is being inspected */
    GHashTable *changed;     /* object paths from which a signal has come */
    gboolean is_all_changed; /* or all of them */
};

static void
part_free(gpointer data)
{
    Part *part = data;

    g_object_unref(part->manager);
    g_clear_object(&part->snapshot);
    g_free(part);
}

Survey *
survey_new(WebLocksAgent *agent, WebLocksManager *manager, const char *name)
{
    Survey *self = g_new0(Survey, 1);

    self->agent = agent;
    self->manager = manager;
    self->name = name;
    self->parts = g_ptr_array_new_with_free_func(part_free);
    self->changed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->is_all_changed = TRUE;
    return self;
}

void
survey_free(Survey *self)
{
    g_clear_pointer(&self->inspection, inspection_free);
    g_ptr_array_unref(self->parts);
    g_hash_table_unref(self->changed);
    g_free(self);
}

const char *
survey_get_path(const Survey *self)
{
    return self->manager != NULL ? web_locks_manager_get_path(self->manager) : BUS_SERVICE_PATH;
}

MethodCallMessage
survey_build_watch(const Survey *self)
{
    return (MethodCallMessage){survey_get_path(self),
                               self->manager != NULL ? BUS_LOCKS_INTERFACE : BUS_SERVICE_INTERFACE,
                               "Watch", g_variant_new("(b)", TRUE)};
}

static void
note_all(Survey *self)
{
    self->is_all_changed = TRUE;
    g_hash_table_remove_all(self->changed);
}

void
survey_note(Survey *self, const char *path)
{
    if (self->is_all_changed)
        return;
    if (g_str_equal(path, BUS_SERVICE_PATH) || g_hash_table_size(self->changed) == CHANGED_MAX)
        note_all(self); /* the signal is Missed */
    else
        g_hash_table_add(self->changed, g_strdup(path));
}

void
survey_reset(Survey *self)
{
    g_clear_pointer(&self->inspection, inspection_free);
    note_all(self);
}

MethodCallMessage
survey_build(Survey *self)
{
    if (self->inspection == NULL && self->manager == NULL)
        return observable_build(self->agent);
    if (self->inspection == NULL)
        self->inspection = inspection_new(self->manager, self->name);
    return inspection_build(self->inspection);
}

/* ---- all buckets */

static gboolean
is_changed(const Survey *self, const char *path)
{
    return self->is_all_changed || g_hash_table_contains(self->changed, path);
}

/* Takes the reply to Observable. Parts that have not changed keep their snapshots; parts of buckets
 * that are empty now are dropped. A bucket keeps its manager. */
static void
take_managers(Survey *self, GPtrArray *managers)
{
    g_autoptr(GHashTable) before = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(part_free);

    for (guint i = 0; i < self->parts->len; i++) {
        Part *part = self->parts->pdata[i];

        g_hash_table_insert(before, (gpointer)web_locks_manager_get_path(part->manager), part);
    }
    for (guint i = 0; i < managers->len; i++) {
        const char *path = web_locks_manager_get_path(managers->pdata[i]);
        const Part *old = g_hash_table_lookup(before, path);
        Part *part = g_new0(Part, 1);

        part->manager = g_object_ref(old != NULL ? old->manager : managers->pdata[i]);
        if (old != NULL && old->snapshot != NULL && !is_changed(self, path))
            part->snapshot = g_object_ref(old->snapshot);
        g_ptr_array_add(parts, part);
    }
    g_hash_table_remove_all(before);
    g_ptr_array_unref(self->parts);
    self->parts = g_steal_pointer(&parts);
    self->at = 0;
    /* A signal that has come before the reply is included in the list, and in what Inspect returns
     * later. */
    self->is_all_changed = FALSE;
    g_hash_table_remove_all(self->changed);
}

static void
append_list(GListStore *store, GListModel *list)
{
    const guint n = g_list_model_get_n_items(list);

    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);

        g_list_store_append(store, info);
    }
}

static WebLocksSnapshot *
join_parts(const Survey *self)
{
    g_autoptr(GListStore) held = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    g_autoptr(GListStore) pending = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);

    for (guint i = 0; i < self->parts->len; i++) {
        const Part *part = self->parts->pdata[i];

        append_list(held, web_locks_snapshot_get_held(part->snapshot));
        append_list(pending, web_locks_snapshot_get_pending(part->snapshot));
    }
    return web_locks_snapshot_new(G_LIST_MODEL(held), G_LIST_MODEL(pending));
}

/* Begins the next Inspect, or returns the result of the look. */
static gpointer
go_on(Survey *self)
{
    for (; self->at < self->parts->len; self->at++) {
        const Part *part = self->parts->pdata[self->at];

        if (part->snapshot == NULL) {
            self->inspection = inspection_new(part->manager, NULL);
            return NULL;
        }
    }
    return join_parts(self);
}

/* ---- replies */

static void
set_manager(GListModel *list, WebLocksManager *manager)
{
    const guint n = g_list_model_get_n_items(list);

    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);

        web_locks_lock_info_set_manager(info, manager);
    }
}

gpointer
survey_read(GVariant *body, Survey *self, GError **error)
{
    WebLocksSnapshot *snapshot;
    WebLocksManager *manager = self->manager;
    Part *part;

    if (self->inspection == NULL) {
        g_autoptr(GPtrArray) managers = observable_read(body, self->agent, error);

        if (managers == NULL)
            return NULL;
        take_managers(self, managers);
        return go_on(self);
    }
    snapshot = inspection_read(body, self->inspection, error);
    if (snapshot == NULL)
        return NULL;
    g_clear_pointer(&self->inspection, inspection_free);
    part = manager == NULL ? self->parts->pdata[self->at] : NULL;
    if (part != NULL)
        manager = part->manager;
    set_manager(web_locks_snapshot_get_held(snapshot), manager);
    set_manager(web_locks_snapshot_get_pending(snapshot), manager);
    if (part == NULL)
        return snapshot;
    part->snapshot = snapshot;
    return go_on(self);
}
