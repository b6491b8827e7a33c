/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* LMDB's own locks are off: the process that writes holds a lock of its own (see state.h). */
#define ENV_FLAGS (MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK)

/* The greatest size of a store: 65,536 requests with the longest names take about half of it. */
#define BYTES_MAX (sizeof(void *) > 4 ? 512UL * 1024 * 1024 : 256UL * 1024 * 1024)

/* The size of a new file until room is allocated. */
#define FIRST_BYTES (64UL * 1024)

/* Allocated in addition to what is needed. */
#define SPARE_BYTES (256UL * 1024)

/* Records that are added take up to ADDED_FACTOR times their size, since a page that is split is
 * only half full, and ADDED_PAGES for the pages that lead to them. */
#define ADDED_FACTOR 4
#define ADDED_PAGES  8

/* An upper bound of the pages of LMDB's list of free pages, which has eight bytes for each. */
#define FREE_LIST_PAGES(last_page) ((last_page) / 256 + 4)

struct Store {
    MDB_env *env;
    MDB_dbi dbi;
    MDB_txn *txn;
    MDB_cursor *cursor;
    int fd;
    gsize page_bytes;
    gsize end_bytes;       /* no page after this offset was ever used */
    gsize live_bytes;      /* upper bound of the bytes of pages in use */
    gsize was_live_bytes;  /* the same before the last commit */
    gsize allocated_bytes; /* from the start of the file, without holes */
    gboolean is_mapped;    /* LMDB writes to the map, which is as long as what is allocated */
    gboolean can_allocate; /* FALSE: fallocate() is not supported here */
    HeaderRecord header;
    GByteArray *header_bytes;
};

GQuark
store_error_quark(void)
{
    return g_quark_from_static_string("weblocks-store-error-quark");
}

/* ENOMEM counts as damage: the size of the map is read from the file. */
static StoreError
code_from_result(int r)
{
    switch (r) {
    case EMFILE:
    case ENFILE:
        return STORE_ERROR_NO_RESOURCE;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
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

/* Where the file is in memory, LMDB writes to its map: no system call, no copy. A page that has no
 * room in the file system would then raise SIGBUS, so the map never reaches beyond what has been
 * allocated: without room LMDB returns MDB_MAP_FULL. */
static gboolean
resize_map(Store *store, gsize n_bytes)
{
    if (!store->is_mapped || mdb_env_set_mapsize(store->env, n_bytes) == 0)
        return TRUE;
    /* No address space is left for it. The old map is gone, but its address space was enough. */
    if (mdb_env_set_mapsize(store->env, store->allocated_bytes) != 0)
        g_error("the state cannot be mapped any more");
    errno = ENOMEM;
    return FALSE;
}

static gsize
round_up(gsize n_bytes)
{
    return (n_bytes + FIRST_BYTES - 1) / FIRST_BYTES * FIRST_BYTES;
}

static gboolean
allocate(Store *store, gsize n_bytes)
{
    if (n_bytes > BYTES_MAX) {
        errno = ENOSPC;
        return FALSE;
    }
    if (!store->can_allocate)
        return TRUE;
    /* Only the new part: fallocate() visits each page, even if it exists. */
    if (fallocate(store->fd, 0, (off_t)store->allocated_bytes,
                  (off_t)(n_bytes - store->allocated_bytes)) < 0) {
        if (store->is_mapped || (errno != EOPNOTSUPP && errno != ENOSYS))
            return FALSE;
        store->can_allocate = FALSE;
        return TRUE;
    }
    if (!resize_map(store, n_bytes))
        return FALSE;
    store->allocated_bytes = n_bytes;
    return TRUE;
}

gboolean
store_has_room(Store *store, gsize n_bytes)
{
    gsize added = ADDED_FACTOR * n_bytes + ADDED_PAGES * store->page_bytes;
    gsize copied = 2 * store->live_bytes + store->was_live_bytes;
    gsize needed = MAX(store->end_bytes, copied + added);

    return needed <= store->allocated_bytes || allocate(store, round_up(needed + SPARE_BYTES));
}

/* ---- life */

static MDB_env *
open_env(const char *path, guint flags, gsize map_bytes, GError **error)
{
    MDB_env *env;

    if (!check(mdb_env_create(&env), "LMDB", error))
        return NULL;
    if (check(mdb_env_set_mapsize(env, map_bytes), "LMDB", error) &&
        check(mdb_env_open(env, path, ENV_FLAGS | flags, 0600), path, error))
        return env;
    mdb_env_close(env);
    return NULL;
}

/* LMDB opens the only table that is used in a transaction of its own. */
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
        !check(mdb_env_stat(store->env, &stat), "LMDB", error))
        return FALSE;
    store->page_bytes = stat.ms_psize;
    return TRUE;
}

static gboolean
open_file(Store *store, const char *path, GError **error)
{
    struct statfs file_system;
    struct stat status;
    gsize size;

    store->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (store->fd < 0 || fstat(store->fd, &status) < 0 || fstatfs(store->fd, &file_system) < 0)
        return check(errno, path, error);
    store->is_mapped = file_system.f_type == TMPFS_MAGIC;
    size = round_up(MAX((gsize)status.st_size, FIRST_BYTES));
    store->env = store->is_mapped ? open_env(path, MDB_WRITEMAP, size, error)
                                  : open_env(path, 0, BYTES_MAX, error);
    if (store->env == NULL || !open_table(store, error))
        return FALSE;
    update_used(store);
    if (allocate(store, size) && (status.st_size > 0 || store_has_room(store, 0)))
        return TRUE;
    return check(errno, path, error);
}

Store *
store_open(const char *path, GError **error)
{
    Store *store = g_new0(Store, 1);

    store->fd = -1;
    store->header_bytes = g_byte_array_new();
    store->can_allocate = TRUE;
    if (open_file(store, path, error))
        return store;
    store_free(store);
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
    if (store->fd >= 0)
        close(store->fd);
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
    MDB_env *env = open_env(path, MDB_RDONLY, BYTES_MAX, error);
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

/* ---- the commit before the last */

/* The start of LMDB's first two pages in its file format, which is of this machine's word size. */
typedef struct {
    gsize page_number;
    guint16 padding;
    guint16 flags;
    guint32 bounds;
    guint32 magic;
    guint32 version;
    gsize address;
    gsize map_bytes;
    struct {
        guint32 page_bytes; /* in the first of the two */
        guint16 flags, depth;
        gsize counts[5];
    } trees[2];
    gsize last_page;
    gsize commit_number; /* the greater one is that of the last commit */
} MetaPage;

#define META_MAGIC   0xBEEFC0DE
#define META_VERSION 1

static gboolean
read_meta(int fd, off_t position, MetaPage *out_page)
{
    return pread(fd, out_page, sizeof *out_page, position) == sizeof *out_page &&
           out_page->magic == META_MAGIC && out_page->version == META_VERSION;
}

/* Changes the commit number of one of the two pages. */
static gboolean
change_number(const char *path, gboolean of_last, gsize number, gsize *out_before)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    MetaPage pages[2];
    gboolean is_changed = FALSE;

    if (fd < 0)
        return FALSE;
    if (read_meta(fd, 0, &pages[0]) && read_meta(fd, pages[0].trees[0].page_bytes, &pages[1])) {
        gboolean is_second = (pages[1].commit_number > pages[0].commit_number) == of_last;
        off_t position = is_second ? pages[0].trees[0].page_bytes : 0;

        *out_before = pages[is_second].commit_number;
        position += G_STRUCT_OFFSET(MetaPage, commit_number);
        is_changed = pwrite(fd, &number, sizeof number, position) == sizeof number;
    }
    close(fd);
    return is_changed;
}

gboolean
store_step_back(const char *path, gsize *out_number)
{
    return change_number(path, TRUE, 0, out_number);
}

void
store_undo_step_back(const char *path, gsize number)
{
    gsize before;

    if (!change_number(path, FALSE, number, &before))
        g_warning("%s: %s", path, g_strerror(errno));
}
