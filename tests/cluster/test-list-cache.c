/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* list-cache: how long a list is used again, and how much is stored. */

#include "cluster/gateway/list-cache.h"

#include "common/cluster-packet.h"

#define BEGIN_US 1000
#define END_US   1100
#define UNTIL_US (END_US + LIST_CACHE_FACTOR * (END_US - BEGIN_US))

typedef struct {
    ListCache *cache;
} Fixture;

static void
set_up(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    fixture->cache = list_cache_new();
}

static void
tear_down(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    list_cache_free(fixture->cache);
}

/* Adds a list with this number of rows, each with a long name. */
static void
add(Fixture *fixture, const char *bucket, guint32 uid, guint n_rows)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    g_autofree char *name = g_strnfill(CLUSTER_NAME_BYTES_MAX, 'n');
    const ClusterRow row = {PERMIT_SHARED, CLUSTER_ROW_HOLDS, 1, "host", name};

    for (guint i = 0; i < n_rows; i++)
        g_ptr_array_add(rows, cluster_row_new(&row));
    list_cache_add(fixture->cache, bucket, uid, rows, BEGIN_US, END_US);
}

/* Returns the number of rows; -1 if there is no list. */
static int
count(Fixture *fixture, const char *bucket, guint32 uid, gint64 now_us)
{
    const GPtrArray *rows = list_cache_find(fixture->cache, bucket, uid, now_us);

    return rows != NULL ? (int)rows->len : -1;
}

static void
test_time(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add(fixture, "b", 1, 3);
    g_assert_cmpint(count(fixture, "b", 1, END_US), ==, 3);
    g_assert_cmpint(count(fixture, "b", 1, UNTIL_US - 1), ==, 3);
    g_assert_cmpint(count(fixture, "b", 1, UNTIL_US), ==, -1);
    g_assert_cmpint(count(fixture, "b", 1, END_US), ==, -1);
}

/* Each user's buckets have lists of their own; a later one replaces the earlier. */
static void
test_lists(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    add(fixture, "b", 1, 1);
    add(fixture, "b", 2, 2);
    add(fixture, "c", 1, 50);
    g_assert_cmpint(count(fixture, "b", 1, END_US), ==, 1);
    g_assert_cmpint(count(fixture, "b", 2, END_US), ==, 2);
    g_assert_cmpint(count(fixture, "c", 1, END_US), ==, 50);
    g_assert_cmpint(count(fixture, "c", 2, END_US), ==, -1);
    add(fixture, "b", 1, 0);
    g_assert_cmpint(count(fixture, "b", 1, END_US), ==, 0);
    list_cache_clear(fixture->cache);
    g_assert_cmpint(count(fixture, "b", 1, END_US), ==, -1);
}

static void
test_size(Fixture *fixture, G_GNUC_UNUSED gconstpointer data)
{
    /* A fifth of the bytes, with the rest of each row. */
    const guint n_rows = LIST_CACHE_BYTES_MAX / CLUSTER_NAME_BYTES_MAX / 5;

    for (guint32 uid = 0; uid < 6; uid++)
        add(fixture, "b", uid, n_rows);
    for (guint32 uid = 0; uid < 6; uid++)
        g_assert_cmpint(count(fixture, "b", uid, END_US), ==, uid < 2 ? -1 : (int)n_rows);
}

int
main(int argc, char *argv[])
{
    g_test_init(&argc, &argv, NULL);
#define ADD(path, function) g_test_add(path, Fixture, NULL, set_up, function, tear_down)
    ADD("/list-cache/time", test_time);
    ADD("/list-cache/lists", test_lists);
    ADD("/list-cache/size", test_size);
    return g_test_run();
}
