/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file of records that outlives the process at any moment of its writing: LMDB, used in one way.
 *
 * What a commit has written is there whenever the process is killed; what it was about to write is
 * there wholly or not at all. That holds for the death of the process, which is all that is needed:
 * the machine's end ends the clients too. So nothing is synced. MDB_WRITEMAP is never used: with it
 * a full file system is a SIGBUS, and a kill between two stores of a commit can lose an earlier
 * one.
 *
 * Room is allocated before it is needed. A commit that only rewrites and removes copies at most the
 * pages that are there, while those that the last one has freed can't be used yet: so much is
 * always allocated, and some. For more, it is to be asked first: store_has_room(). */

#pragma once

#include <glib.h>

#include "records.h"

#define STORE_ERROR (store_error_quark())
typedef enum {
    STORE_ERROR_DAMAGED, /* the file is not what it should be */
    STORE_ERROR_NO_FILE,
    STORE_ERROR_NO_RESOURCE, /* processes or descriptors; the file may be sound */
    STORE_ERROR_NO_ROOM,     /* in the file system */
} StoreError;
GQuark store_error_quark(void);

typedef struct Store Store;

/* A new file at `path`, which is not there yet. NULL: it can't be made. */
Store *store_create(const char *path, GError **error);

/* One that is there, and sound. */
Store *store_open(const char *path, GError **error);
void store_free(Store *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Store, store_free)

/* Whether records of so many bytes can be added to what is there; allocates if need be. */
gboolean store_has_room(Store *store, gsize n_bytes);

/* In this order, for each commit. The three in the middle work on the header that is written in the
 * end: its counts and its sum of digests follow the records. */
gboolean store_begin(Store *store, GError **error);
gboolean store_put(Store *store, const RecordKey *key, const GByteArray *value, GError **error);
gboolean store_remove(Store *store, const RecordKey *key, GError **error);
HeaderRecord *store_get_header(Store *store);
gboolean store_commit(Store *store, GError **error);

/* Every record but the header of the file at `path`, as `visit` is given them in the order of
 * their keys; FALSE: there is none, or it is damaged, or `visit` has said so. A damaged file may
 * crash the process, or never come to an end: see load.h. */
typedef gboolean (*StoreVisit)(
    const void *key, gsize key_size, const void *value, gsize value_size, gpointer data);
gboolean store_read(const char *path, StoreVisit visit, gpointer data, GError **error);
