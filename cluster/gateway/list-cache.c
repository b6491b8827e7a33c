/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "list-cache.h"

#include "cluster-packet.h"

typedef struct {
    char *bucket;
    guint32 uid;
    GPtrArray *rows;
    gsize n_bytes;
    gint64 until_us;
} List;

struct ListCache {
    GQueue lists; /* of List, owned; the oldest first */
    gsize n_bytes;
};

static void
list_free(gpointer data)
{
    List *list = data;

    g_free(list->bucket);
    g_ptr_array_unref(list->rows);
    g_free(list);
}

ListCache *
list_cache_new(void)
{
    return g_new0(ListCache, 1);
}

void
list_cache_clear(ListCache *cache)
{
    g_queue_clear_full(&cache->lists, list_free);
    cache->n_bytes = 0;
}

void
list_cache_free(ListCache *cache)
{
    list_cache_clear(cache);
    g_free(cache);
}

/* Returns the place of a list, or NULL. */
static GList *
find(const ListCache *cache, const char *bucket, guint32 uid)
{
    for (GList *place = cache->lists.head; place != NULL; place = place->next) {
        const List *list = place->data;

        if (list->uid == uid && g_str_equal(list->bucket, bucket))
            return place;
    }
    return NULL;
}

static void
remove_list(ListCache *cache, GList *place)
{
    List *list = place->data;

    cache->n_bytes -= list->n_bytes;
    g_queue_delete_link(&cache->lists, place);
    list_free(list);
}

void
list_cache_add(ListCache *cache,
               const char *bucket,
               guint32 uid,
               GPtrArray *rows,
               gint64 begin_us,
               gint64 end_us)
{
    GList *earlier = find(cache, bucket, uid);
    List *list = g_new0(List, 1);

    if (earlier != NULL)
        remove_list(cache, earlier);
    list->bucket = g_strdup(bucket);
    list->uid = uid;
    list->rows = g_ptr_array_ref(rows);
    list->until_us = end_us + LIST_CACHE_FACTOR * (end_us - begin_us);
    g_queue_push_tail(&cache->lists, list);
    for (guint i = 0; i < rows->len; i++)
        list->n_bytes += cluster_row_get_memory(rows->pdata[i]);
    cache->n_bytes += list->n_bytes;
    while (cache->n_bytes > LIST_CACHE_BYTES_MAX)
        remove_list(cache, cache->lists.head);
}

const GPtrArray *
list_cache_find(ListCache *cache, const char *bucket, guint32 uid, gint64 now_us)
{
    GList *place = find(cache, bucket, uid);
    const List *list;

    if (place == NULL)
        return NULL;
    list = place->data;
    if (now_us >= list->until_us) {
        remove_list(cache, place);
        return NULL;
    }
    return list->rows;
}
