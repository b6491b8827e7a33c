/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/info-list.h"

#include "client-lib/lock-info-private.h"

typedef struct {
    GObject parent;
    GVariant *entries; /* "a(sss)" */
    gboolean held;
    guint n_items;
    /* One for each entry, or NULL; atomic, since several threads may read a list. */
    WebLocksLockInfo **objects;
} InfoList;

typedef GObjectClass InfoListClass;

static void info_list_model_init(GListModelInterface *interface);

G_DEFINE_TYPE_WITH_CODE(InfoList,
                        info_list,
                        G_TYPE_OBJECT,
                        G_IMPLEMENT_INTERFACE(G_TYPE_LIST_MODEL, info_list_model_init))

/* ---- GListModel */

static GType
get_item_type(GListModel *model)
{
    return WEB_LOCKS_TYPE_LOCK_INFO;
}

static guint
get_n_items(GListModel *model)
{
    return ((InfoList *)model)->n_items;
}

static gpointer
get_item(GListModel *model, guint position)
{
    InfoList *self = (InfoList *)model;
    const char *name, *mode, *client_id;
    WebLocksLockInfo **place;
    g_autoptr(WebLocksLockInfo) made = NULL;

    if (position >= self->n_items)
        return NULL;
    place = &self->objects[position];
    if (g_atomic_pointer_get(place) == NULL) {
        g_variant_get_child(self->entries, position, "(&s&s&s)", &name, &mode, &client_id);
        made = web_locks_lock_info_new_from_query(name, mode, client_id, self->held);
        if (g_atomic_pointer_compare_and_exchange(place, NULL, made))
            return g_object_ref(g_steal_pointer(&made));
    }
    return g_object_ref(g_atomic_pointer_get(place));
}

static void
info_list_model_init(GListModelInterface *interface)
{
    interface->get_item_type = get_item_type;
    interface->get_n_items = get_n_items;
    interface->get_item = get_item;
}

/* ---- GObject */

static void
info_list_init(InfoList *self)
{
}

static void
info_list_finalize(GObject *object)
{
    InfoList *self = (InfoList *)object;

    for (guint i = 0; i < self->n_items; i++)
        g_clear_object(&self->objects[i]);
    g_free(self->objects);
    g_variant_unref(self->entries);
    G_OBJECT_CLASS(info_list_parent_class)->finalize(object);
}

static void
info_list_class_init(InfoListClass *class)
{
    G_OBJECT_CLASS(class)->finalize = info_list_finalize;
}

GListModel *
info_list_new(GVariant *entries, gboolean held)
{
    InfoList *self = g_object_new(info_list_get_type(), NULL);

    self->entries = g_variant_ref(entries);
    self->held = held;
    self->n_items = (guint)g_variant_n_children(entries);
    self->objects = g_new0(WebLocksLockInfo *, self->n_items);
    return G_LIST_MODEL(self);
}
