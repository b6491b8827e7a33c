/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>

/* No locks of LMDB's own: one process writes, and it has a lock of its own (see state.h). */
#define ENV_FLAGS (MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK)

/* Addresses, not memory: 65,536 requests with the longest names take about half of it. */
#define MAP_BYTES (sizeof(void *) > 4 ? 512UL * 1024 * 1024 : 256UL * 1024 * 1024)

/* Allocated besides what is needed. */
#define SPARE_BYTES (256UL * 1024)

/* Pages are at least half full, and split: what is added takes up to this many times its size, */
#define ADDED_FACTOR 4
/* and what leads there some pages more. */
#define ADDED_PAGES 8

/* LMDB notes free pages by their numbers, eight bytes each, in a tree of its own. */
#define FREE_LIST_PAGES(last_page) ((last_page) / 256 + 4)

struct Store {
    MDB_env *env;
    MDB_dbi dbi;
    MDB_txn *txn;
    MDB_cursor *cursor;
    int fd; /* LMDB's */
    gsize page_bytes;
    gsize end_bytes;      /* no page behind it was ever used */
    gsize live_bytes;     /* of the pages that are in use, about, */
    gsize was_live_bytes; /* and were before the last commit */
    gsize allocated_bytes;
    gsize filled_bytes;    /* at the beginning of the file, known to be without holes */
    gboolean can_allocate; /* FALSE: the file system doesn't know how, and so can't be asked */
    HeaderRecord header;
    GByteArray *header_bytes;
};

GQuark
store_error_quark(void)
{
    return g_quark_from_static_string("weblocks-store-error-quark");
}

/* ENOMEM is the file's fault: it tells how much of it is to be mapped. */
static StoreError
code_from_result(int r)
{
    switch (r) {
    case EMFILE:
    case ENFILE:
        return STORE_ERROR_NO_RESOURCE;
    case ENOSPC:
    case EDQUOT:
    case MDB_MAP_FULL:
        return STORE_ERROR_NO_ROOM;
    default:
        return STORE_ERROR_DAMAGED;
    }
}

static gboolean
check(int r, const char *step, GError **error)
{
    if (r == 0)
        return TRUE;
    g_set_error(error, STORE_ERROR, (int)code_from_result(r), "%s: %s", step, mdb_strerror(r));
    return FALSE;
}

static MDB_val
val_of_key(const RecordKey *key)
{
    return (MDB_val){key->size, (void *)key->bytes};
}

/* ---- room */

static void
update_used(Store *store)
{
    MDB_envinfo info;
    MDB_stat tree;
    gsize n_pages;

    mdb_env_info(store->env, &info);
    mdb_env_stat(store->env, &tree);
    n_pages = 2 + tree.ms_branch_pages + tree.ms_leaf_pages + tree.ms_overflow_pages;
    n_pages += FREE_LIST_PAGES(info.me_last_pgno);
    store->end_bytes = (info.me_last_pgno + 1) * store->page_bytes;
    store->was_live_bytes = store->live_bytes;
    store->live_bytes = n_pages * store->page_bytes;
}

static gboolean
allocate(Store *store, gsize n_bytes)
{
    if (n_bytes > MAP_BYTES)
        return FALSE;
    if (!store->can_allocate)
        return TRUE;
    /* Only what is new: to go through what is there already takes longer the more there is. */
    if (fallocate(store->fd, 0, (off_t)store->filled_bytes,
                  (off_t)(n_bytes - store->filled_bytes)) == 0) {
        store->allocated_bytes = store->filled_bytes = n_bytes;
        return TRUE;
    }
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return FALSE;
    store->can_allocate = FALSE;
    return TRUE;
}

gboolean
store_has_room(Store *store, gsize n_bytes)
{
    gsize added = ADDED_FACTOR * n_bytes + ADDED_PAGES * store->page_bytes;
    gsize copied = 2 * store->live_bytes + store->was_live_bytes;
    gsize needed = MAX(store->end_bytes, copied + added);

    return needed <= store->allocated_bytes || allocate(store, needed + SPARE_BYTES);
}

/* ---- life */

static MDB_env *
open_env(const char *path, guint flags, GError **error)
{
    MDB_env *env;

    if (!check(mdb_env_create(&env), "LMDB", error))
        return NULL;
    if (check(mdb_env_set_mapsize(env, MAP_BYTES), "LMDB", error) &&
        check(mdb_env_open(env, path, ENV_FLAGS | flags, 0600), path, error))
        return env;
    mdb_env_close(env);
    return NULL;
}

/* LMDB opens the one table that we use in a transaction of its own. */
static gboolean
open_table(Store *store, GError **error)
{
    MDB_txn *txn;
    MDB_stat stat;

    if (!check(mdb_txn_begin(store->env, NULL, 0, &txn), "LMDB", error))
        return FALSE;
    if (!check(mdb_dbi_open(txn, NULL, 0, &store->dbi), "LMDB", error)) {
        mdb_txn_abort(txn);
        return FALSE;
    }
    if (!check(mdb_txn_commit(txn), "LMDB", error) ||
        !check(mdb_env_stat(store->env, &stat), "LMDB", error) ||
        !check(mdb_env_get_fd(store->env, &store->fd), "LMDB", error))
        return FALSE;
    store->page_bytes = stat.ms_psize;
    return TRUE;
}

Store *
store_open(const char *path, GError **error)
{
    Store *store = g_new0(Store, 1);
    struct stat status;

    store->header_bytes = g_byte_array_new();
    store->can_allocate = TRUE;
    store->env = open_env(path, 0, error);
    if (store->env == NULL || !open_table(store, error)) {
        store_free(store);
        return NULL;
    }
    if (fstat(store->fd, &status) == 0)
        store->allocated_bytes = (gsize)status.st_blocks * 512;
    update_used(store);
    return store;
}

Store *
store_create(const char *path, GError **error)
{
    Store *store = store_open(path, error);

    if (store == NULL)
        return NULL;
    store->allocated_bytes = 0;
    if (store_has_room(store, 0))
        return store;
    store_free(store);
    g_set_error(error, STORE_ERROR, STORE_ERROR_NO_ROOM, "%s: no room", path);
    return NULL;
}

void
store_free(Store *store)
{
    if (store->cursor != NULL)
        mdb_cursor_close(store->cursor);
    if (store->txn != NULL)
        mdb_txn_abort(store->txn);
    if (store->env != NULL)
        mdb_env_close(store->env);
    g_byte_array_unref(store->header_bytes);
    g_free(store);
}

/* ---- writing */

HeaderRecord *
store_get_header(Store *store)
{
    return &store->header;
}

gboolean
store_begin(Store *store, GError **error)
{
    return check(mdb_txn_begin(store->env, NULL, 0, &store->txn), "begin", error) &&
           check(mdb_cursor_open(store->txn, store->dbi, &store->cursor), "begin", error);
}

/* Takes a record out of the header's sum, if it is there. */
static int
find_and_discount(Store *store, MDB_val *key)
{
    MDB_val value;
    int r = mdb_cursor_get(store->cursor, key, &value, MDB_SET);

    if (r == 0) {
        store->header.n_records--;
        store->header.digest -=
            record_digest(key->mv_data, key->mv_size, value.mv_data, value.mv_size);
    }
    return r;
}

gboolean
store_put(Store *store, const RecordKey *record_key, const GByteArray *bytes, GError **error)
{
    MDB_val key = val_of_key(record_key);
    MDB_val value = {bytes->len, bytes->data};
    int r = find_and_discount(store, &key);

    if (r != 0 && r != MDB_NOTFOUND)
        return check(r, "put", error);
    store->header.n_records++;
    store->header.digest += record_digest(key.mv_data, key.mv_size, bytes->data, bytes->len);
    return check(mdb_cursor_put(store->cursor, &key, &value, r == 0 ? MDB_CURRENT : 0), "put",
                 error);
}

gboolean
store_remove(Store *store, const RecordKey *record_key, GError **error)
{
    MDB_val key = val_of_key(record_key);
    int r = find_and_discount(store, &key);

    if (r == MDB_NOTFOUND)
        return TRUE;
    return check(r == 0 ? mdb_cursor_del(store->cursor, 0) : r, "remove", error);
}

gboolean
store_commit(Store *store, GError **error)
{
    const RecordKey record_key = record_key_of_header();
    MDB_val key = val_of_key(&record_key);
    MDB_val value;

    g_byte_array_set_size(store->header_bytes, 0);
    store->header.n_commits++;
    header_record_write(&store->header, store->header_bytes);
    value = (MDB_val){store->header_bytes->len, store->header_bytes->data};
    if (!check(mdb_cursor_put(store->cursor, &key, &value, 0), "commit", error))
        return FALSE;
    mdb_cursor_close(g_steal_pointer(&store->cursor));
    if (!check(mdb_txn_commit(g_steal_pointer(&store->txn)), "commit", error))
        return FALSE;
    update_used(store);
    store_has_room(store, 0);
    return TRUE;
}

/* ---- reading */

static gboolean
read_all(MDB_cursor *cursor, StoreVisit visit, gpointer data, GError **error)
{
    MDB_val key, value;
    int r = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);

    for (; r == 0; r = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        if (!visit(key.mv_data, key.mv_size, value.mv_data, value.mv_size, data)) {
            g_set_error_literal(error, STORE_ERROR, STORE_ERROR_DAMAGED, "not taken");
            return FALSE;
        }
    }
    return r == MDB_NOTFOUND || check(r, "read", error);
}

gboolean
store_read(const char *path, StoreVisit visit, gpointer data, GError **error)
{
    MDB_env *env = open_env(path, MDB_RDONLY, error);
    MDB_txn *txn = NULL;
    MDB_cursor *cursor;
    MDB_dbi dbi;
    gboolean is_read = FALSE;

    if (env == NULL)
        return FALSE;
    if (check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "read", error) &&
        check(mdb_dbi_open(txn, NULL, 0, &dbi), "read", error) &&
        check(mdb_cursor_open(txn, dbi, &cursor), "read", error)) {
        is_read = read_all(cursor, visit, data, error);
        mdb_cursor_close(cursor);
    }
    if (txn != NULL)
        mdb_txn_abort(txn);
    mdb_env_close(env);
    return is_read;
}
