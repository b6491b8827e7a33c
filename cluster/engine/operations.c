/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The operations that are one request or one transaction. */

#include "engine-private.h"

static char *
claim_path(const char *name_path, const char *claim)
{
    return g_strconcat(name_path, "/", claim, NULL);
}

void
engine_create_claim(Engine *self,
                    const char *name_path,
                    const char *old,
                    const char *prefix,
                    const char *text,
                    EngineCallback callback,
                    gpointer data)
{
    g_autofree char *path = claim_path(name_path, prefix);
    g_autofree char *old_path = old != NULL ? claim_path(name_path, old) : NULL;
    EngineOperation *transaction;

    if (old == NULL) {
        engine_request_create(self, path, text, ZOO_EPHEMERAL_SEQUENTIAL, callback, data);
        return;
    }
    transaction = engine_transaction_new(2);
    engine_transaction_delete(transaction, old_path);
    engine_transaction_create(transaction, self->acl, path, text, ZOO_EPHEMERAL_SEQUENTIAL);
    engine_transaction_send(transaction, self, callback, data);
}

/* Unlike a watch of exists(), this one is not set for a node that doesn't exist. */
void
engine_read_claim(Engine *self,
                  const char *name_path,
                  const char *claim,
                  gboolean watches,
                  EngineCallback callback,
                  gpointer data)
{
    g_autofree char *path = claim_path(name_path, claim);

    engine_request_get(self, path, watches, callback, data);
}

void
engine_steal(Engine *self,
             const char *name_path,
             const char *name,
             gint32 version,
             const char *const *holders,
             const char *claim,
             const char *text,
             EngineCallback callback,
             gpointer data)
{
    guint n_holders = g_strv_length((char **)holders);
    g_autofree char *user_path = g_path_get_dirname(name_path);
    g_autofree char *path = claim != NULL ? claim_path(name_path, claim) : NULL;
    g_autoptr(GPtrArray) holder_paths = g_ptr_array_new_with_free_func(g_free);
    EngineOperation *transaction = engine_transaction_new(n_holders + 3);

    transaction->version_part = engine_transaction_set(transaction, name_path, name, -1);
    for (guint i = 0; i < n_holders; i++) {
        g_ptr_array_add(holder_paths, claim_path(name_path, holders[i]));
        engine_transaction_delete(transaction, holder_paths->pdata[i]);
    }
    if (claim != NULL) {
        engine_transaction_set(transaction, user_path, "", version);
        engine_transaction_create(transaction, self->acl, path, text, ZOO_EPHEMERAL);
    }
    engine_transaction_send(transaction, self, callback, data);
}

/* Reads that are sent together: the last answer is that of all. */
typedef struct {
    EngineCallback callback;
    gpointer data;
    guint n_pending;
    EngineResult result; /* of the first one that has failed */
    gint32 version;
    gboolean has_version;
} Listing;

static void
on_read(const EngineAnswer *answer, gpointer data)
{
    Listing *listing = data;
    EngineAnswer what = *answer;

    if (answer->result != ENGINE_OK && listing->result == ENGINE_OK)
        listing->result = answer->result;
    if (answer->result == ENGINE_OK && !listing->has_version)
        listing->version = answer->version;
    listing->has_version = TRUE;
    if (--listing->n_pending > 0)
        return;
    what.result = listing->result;
    what.version = listing->version;
    listing->callback(&what, listing->data);
    g_free(listing);
}

/* A read of the number of steals that has not been answered. The lists that are sent meanwhile get
 * the same number, which is not later than they are. So many lists of a user's names take little
 * more than one read each. */
typedef struct {
    Engine *engine;
    char *user_path;
    GPtrArray *listings; /* of Listing */
} VersionRead;

static void
on_version(const EngineAnswer *answer, gpointer data)
{
    VersionRead *read = data;

    g_hash_table_remove(read->engine->version_reads, read->user_path);
    for (guint i = 0; i < read->listings->len; i++)
        on_read(answer, read->listings->pdata[i]);
    g_ptr_array_unref(read->listings);
    g_free(read->user_path);
    g_free(read);
}

static void
read_version(Engine *self, const char *name_path, Listing *listing)
{
    g_autofree char *user_path = g_path_get_dirname(name_path);
    VersionRead *read = g_hash_table_lookup(self->version_reads, user_path);

    if (read == NULL) {
        read = g_new0(VersionRead, 1);
        read->engine = self;
        read->user_path = g_steal_pointer(&user_path);
        read->listings = g_ptr_array_new();
        g_hash_table_insert(self->version_reads, read->user_path, read);
        engine_request_get(self, read->user_path, FALSE, on_version, read);
    }
    g_ptr_array_add(read->listings, listing);
}

/* A server carries them out in this order: the number is not later than the list, and what comes
 * after the list is watched. */
void
engine_list_claims(
    Engine *self, const char *name_path, EngineWatch watch, EngineCallback callback, gpointer data)
{
    Listing *listing = g_new0(Listing, 1);

    listing->callback = callback;
    listing->data = data;
    listing->n_pending = watch == ENGINE_WATCH_NAME ? 3 : 2;
    read_version(self, name_path, listing);
    if (watch == ENGINE_WATCH_NAME)
        engine_request_get(self, name_path, TRUE, on_read, listing);
    engine_list(self, name_path, watch == ENGINE_WATCH_CLAIMS, on_read, listing);
}

void
engine_delete(
    Engine *self, const char *name_path, const char *claim, EngineCallback callback, gpointer data)
{
    g_autofree char *path = claim != NULL ? claim_path(name_path, claim) : g_strdup(name_path);

    engine_request_delete(self, path, callback, data);
}

void
engine_renew(Engine *self, EngineCallback callback, gpointer data)
{
    EngineOperation *transaction;

    g_assert(self->host_path != NULL);
    transaction = engine_transaction_new(1);
    engine_transaction_end_typed(transaction);
    engine_transaction_set(transaction, self->host_path, "", -1);
    engine_transaction_send(transaction, self, callback, data);
}

void
engine_list_hosts(Engine *self, EngineCallback callback, gpointer data)
{
    g_autofree char *path = g_strconcat(self->root, "/sessions", NULL);

    engine_list(self, path, FALSE, callback, data);
}
