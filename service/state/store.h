/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file of records that survives the death of the process at any instruction: LMDB, used in one
 * way.
 *
 * After a kill the file has the last commit or the one that was under way, whole. That holds for
 * the death of the process, which is all that is needed: the end of the machine ends the clients
 * too. So nothing is synced.
 *
 * Where the file is in memory (tmpfs), LMDB writes to a shared map, and a commit makes no system
 * call. LMDB then makes a commit valid by several stores to one page, in an order that its compiler
 * chose: a kill between them can leave a page that names the new commit and refers to an older one.
 * The commit before it is whole in that case too, and store_step_back() makes it the last one.
 * Elsewhere pages are written by pwrite(), since not every file system keeps what is allocated.
 *
 * Room is allocated before it is needed. A commit that only rewrites and removes records copies at
 * most the pages in use, while those that the last commit has freed can't be used yet: room for
 * that is always allocated. store_has_room() is to be asked before anything is added. */

#pragma once

#include <glib.h>

#include "records.h"

#define STORE_ERROR (store_error_quark())
typedef enum {
    STORE_ERROR_DAMAGED, /* the contents of the file are invalid */
    STORE_ERROR_NO_FILE,
    STORE_ERROR_NO_RESOURCE, /* processes or descriptors; the file may be sound */
    STORE_ERROR_NO_ROOM,     /* in the file system, or by a limit on the size of files */
} StoreError;
GQuark store_error_quark(void);

typedef struct Store Store;

/* The store in the file at `path`, which is created if it is not there; a file that is there must
 * be sound. NULL: it can't be opened, or there is no room for it. */
Store *store_open(const char *path, GError **error);
void store_free(Store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_free)

/* Whether records of `n_bytes` in total can be added to what is there; allocates if need be. Not
 * between store_begin() and store_commit(). */
gboolean store_has_room(Store *store, gsize n_bytes);

/* A commit, in this order. store_put() and store_remove() keep the counts and the sum of digests of
 * the header up to date; store_commit() writes it. */
gboolean store_begin(Store *store, GError **error);
gboolean store_put(Store *store, const RecordKey *key, const GByteArray *value, GError **error);
gboolean store_remove(Store *store, const RecordKey *key, GError **error);
HeaderRecord *store_get_header(Store *store);
gboolean store_commit(Store *store, GError **error);

/* Calls `visit` for each record of the file at `path`, in the order of their keys. FALSE: there is
 * no file, it is damaged, or `visit` returned FALSE. A damaged file may crash the process or keep
 * it busy indefinitely: see reader.h. */
typedef gboolean (*StoreVisit)(
    const void *key, gsize key_size, const void *value, gsize value_size, gpointer data);
gboolean store_read(const char *path, StoreVisit visit, gpointer data, GError **error);

/* Makes the commit before the last one the last, in a file that no process has open. For a file
 * whose last commit is not whole. FALSE: it is not a file of LMDB. `*out_number` is for undoing it.
 */
gboolean store_step_back(const char *path, gsize *out_number);
void store_undo_step_back(const char *path, gsize number);
