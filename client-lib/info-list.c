/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/info-list.h"

#include "client-lib/engine/bus-reply.h"
#include "client-lib/lock-info-private.h"

/* An item as read from the body. The strings are borrowed from it; the bus has validated that they
 * are UTF-8. */
typedef struct {
    const char *name;
    const char *mode;
    const char *client_id;
    WebLocksLockInfo *object; /* NULL: not yet; atomic, since several threads may read a list */
} Entry;

typedef struct {
    GObject parent;
    GBytes *body;
    gboolean held;
    GArray *entries; /* of Entry */
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
    return ((InfoList *)model)->entries->len;
}

static gpointer
get_item(GListModel *model, guint position)
{
    InfoList *self = (InfoList *)model;
    Entry *entry;
    g_autoptr(WebLocksLockInfo) made = NULL;

    if (position >= self->entries->len)
        return NULL;
    entry = &g_array_index(self->entries, Entry, position);
    if (g_atomic_pointer_get(&entry->object) == NULL) {
        made = web_locks_lock_info_new_from_query(entry->name, entry->mode, entry->client_id,
                                                  self->held);
        if (g_atomic_pointer_compare_and_exchange(&entry->object, NULL, made))
            return g_object_ref(g_steal_pointer(&made));
    }
    return g_object_ref(g_atomic_pointer_get(&entry->object));
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
    self->entries = g_array_new(FALSE, FALSE, sizeof(Entry));
}

static void
info_list_finalize(GObject *object)
{
    InfoList *self = (InfoList *)object;

    for (guint i = 0; i < self->entries->len; i++)
        g_clear_object(&g_array_index(self->entries, Entry, i).object);
    g_array_unref(self->entries);
    g_bytes_unref(self->body);
    G_OBJECT_CLASS(info_list_parent_class)->finalize(object);
}

static void
info_list_class_init(InfoListClass *class)
{
    G_OBJECT_CLASS(class)->finalize = info_list_finalize;
}

/* ---- reading the body */

static gboolean
read_entries(BusReader *reader, GArray *entries)
{
    guint32 length;
    gsize end;
    Entry entry = {0};

    if (!bus_reader_u32(reader, &length) || !bus_reader_align(reader, 8) ||
        length > reader->size - reader->offset)
        return FALSE;
    end = reader->offset + length;
    while (reader->offset < end) {
        if (!bus_reader_align(reader, 8) || !bus_reader_string(reader, 's', &entry.name) ||
            !bus_reader_string(reader, 's', &entry.mode) ||
            !bus_reader_string(reader, 's', &entry.client_id))
            return FALSE;
        g_array_append_val(entries, entry);
    }
    return reader->offset == end;
}

static InfoList *
info_list_new(GBytes *body, gboolean held)
{
    InfoList *self = g_object_new(info_list_get_type(), NULL);

    self->body = g_bytes_ref(body);
    self->held = held;
    return self;
}

gboolean
info_list_read(GBytes *body, GListModel **out_held, GListModel **out_pending)
{
    g_autoptr(GObject) held = (GObject *)info_list_new(body, TRUE);
    g_autoptr(GObject) pending = (GObject *)info_list_new(body, FALSE);
    BusReader reader = {0};

    reader.data = g_bytes_get_data(body, &reader.size);
    if (!read_entries(&reader, ((InfoList *)held)->entries) ||
        !read_entries(&reader, ((InfoList *)pending)->entries) || reader.offset != reader.size)
        return FALSE;
    *out_held = G_LIST_MODEL(g_steal_pointer(&held));
    *out_pending = G_LIST_MODEL(g_steal_pointer(&pending));
    return TRUE;
}
