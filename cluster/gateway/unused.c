/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "unused.h"

/* A name that is used again within this time need not be made again. */
#define KEPT_US (G_GINT64_CONSTANT(3) * G_USEC_PER_SEC)

#define UNUSED_MAX 10000

/* In a second, so that operations of locks don't wait for them. */
#define DELETIONS_MAX 1000

struct Unused {
    Session *session;
    GHashTable *names; /* path -> gint64, when it was added: g_get_monotonic_time(); owned */
    guint tick_source; /* 0: there are no names */
};

Unused *
unused_new(Session *session)
{
    Unused *unused = g_new0(Unused, 1);

    unused->session = session;
    unused->names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    return unused;
}

void
unused_free(Unused *unused)
{
    g_clear_handle_id(&unused->tick_source, g_source_remove);
    g_hash_table_unref(unused->names);
    g_free(unused);
}

void
unused_remove(Unused *unused, const char *path)
{
    g_hash_table_remove(unused->names, path);
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
    GHashTableIter iter;
    gpointer path, since_us;
    guint n_deleted = 0;

    g_hash_table_iter_init(&iter, unused->names);
    while (n_deleted < DELETIONS_MAX && g_hash_table_iter_next(&iter, &path, &since_us)) {
        if (*(gint64 *)since_us > until_us)
            continue;
        if (engine != NULL)
            engine_delete_name(engine, path, on_deleted, NULL);
        g_hash_table_iter_remove(&iter);
        n_deleted++;
    }
    if (g_hash_table_size(unused->names) > 0)
        return G_SOURCE_CONTINUE;
    unused->tick_source = 0;
    return G_SOURCE_REMOVE;
}

void
unused_add(Unused *unused, const char *path)
{
    const gint64 now_us = g_get_monotonic_time();

    if (g_hash_table_size(unused->names) < UNUSED_MAX)
        g_hash_table_replace(unused->names, g_strdup(path), g_memdup2(&now_us, sizeof now_us));
    if (unused->tick_source == 0)
        unused->tick_source = g_timeout_add_seconds(1, on_tick, unused);
}
