/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "unused.h"

/* A name that is used again within this time need not be made again. */
#define KEPT_US (G_GINT64_CONSTANT(3) * G_USEC_PER_SEC)

#define UNUSED_MAX 10000

/* In a second, so that operations of locks don't wait for them. */
#define DELETIONS_MAX 1000

typedef struct {
    GList link; /* in `names` */
    char *path;
    gint64 since_us; /* g_get_monotonic_time() */
} Name;

struct Unused {
    Session *session;
    GHashTable *by_path; /* path -> Name, owned */
    GQueue names;        /* of Name, in the order of `since_us` */
    guint tick_source;   /* 0: there are no names */
};

static void
name_free(gpointer data)
{
    Name *name = data;

    g_free(name->path);
    g_free(name);
}

Unused *
unused_new(Session *session)
{
    Unused *unused = g_new0(Unused, 1);

    unused->session = session;
    unused->by_path = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, name_free);
    g_queue_init(&unused->names);
    return unused;
}

void
unused_free(Unused *unused)
{
    g_clear_handle_id(&unused->tick_source, g_source_remove);
    g_hash_table_unref(unused->by_path);
    g_free(unused);
}

void
unused_remove(Unused *unused, const char *path)
{
    Name *name = g_hash_table_lookup(unused->by_path, path);

    if (name == NULL)
        return;
    g_queue_unlink(&unused->names, &name->link);
    g_hash_table_remove(unused->by_path, name->path);
}

/* A node with claims stays, and what has failed is left to ZooKeeper. */
static void
on_deleted(G_GNUC_UNUSED const EngineAnswer *answer, G_GNUC_UNUSED gpointer data)
{
}

static gboolean
on_tick(gpointer data)
{
    Unused *unused = data;
    Engine *engine = session_get_engine(unused->session);
    gint64 until_us = g_get_monotonic_time() - KEPT_US;

    for (guint n = 0; n < DELETIONS_MAX && unused->names.length > 0; n++) {
        const Name *name = unused->names.head->data;

        if (name->since_us > until_us)
            break;
        if (engine != NULL)
            engine_delete_name(engine, name->path, on_deleted, NULL);
        unused_remove(unused, name->path);
    }
    if (unused->names.length > 0)
        return G_SOURCE_CONTINUE;
    unused->tick_source = 0;
    return G_SOURCE_REMOVE;
}

void
unused_add(Unused *unused, const char *path)
{
    Name *name;

    unused_remove(unused, path);
    if (unused->names.length == UNUSED_MAX)
        return;
    name = g_new0(Name, 1);
    name->link.data = name;
    name->path = g_strdup(path);
    name->since_us = g_get_monotonic_time();
    g_hash_table_insert(unused->by_path, name->path, name);
    g_queue_push_tail_link(&unused->names, &name->link);
    if (unused->tick_source == 0)
        unused->tick_source = g_timeout_add_seconds(1, on_tick, unused);
}
