/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "opened.h"

#include "lock-manager.h"

typedef struct {
    char *name;
    char *lock_name;
} OpenedDocument;

char *
opened_make_name(const UserAgent *user_agent, const char *bucket, const char *lock_name)
{
    g_autofree char *hash = NULL;

    if (!g_str_equal(bucket, BUS_USER_DOCUMENTS_BUCKET))
        return g_strdup(lock_name);
    hash = g_compute_hmac_for_string(G_CHECKSUM_SHA256, (const guchar *)user_agent->document_key,
                                     sizeof user_agent->document_key, lock_name, -1);
    return g_strconcat(BUS_DOCUMENT_PREFIX, hash, NULL);
}

static const char *
find_name(const Client *client, const char *lock_name)
{
    for (const GList *link = client->documents.head; link != NULL; link = link->next)
        if (g_str_equal(((const OpenedDocument *)link->data)->lock_name, lock_name))
            return ((const OpenedDocument *)link->data)->name;
    return NULL;
}

static void
opened_free(gpointer data)
{
    OpenedDocument *opened = data;

    g_free(opened->name);
    g_free(opened->lock_name);
    g_free(opened);
}

/* Returns the locks for which the agent has requests, as a set of borrowed names. */
static GHashTable *
find_used(const Agent *agent)
{
    GHashTable *used = g_hash_table_new(g_str_hash, g_str_equal);

    for (const GList *link = agent->requests.head; link != NULL; link = link->next) {
        const LockQueue *queue = ((const LockRequest *)link->data)->queue;

        if (lock_manager_is_of_user(queue->manager, agent->principal))
            g_hash_table_add(used, (gpointer)queue->name);
    }
    return used;
}

/* Returns FALSE if all are used. */
static gboolean
close_unused(Client *client)
{
    g_autoptr(GHashTable) used = find_used(client->agent);

    for (GList *link = client->documents.head; link != NULL; link = link->next)
        if (!g_hash_table_contains(used, ((const OpenedDocument *)link->data)->lock_name)) {
            opened_free(link->data);
            g_queue_delete_link(&client->documents, link);
            return TRUE;
        }
    return FALSE;
}

LockResult
opened_add(Client *client, const char *lock_name, const char **out_name)
{
    const UserAgent *user_agent = &client->server->user_agent;
    OpenedDocument *opened;

    if ((*out_name = find_name(client, lock_name)) != NULL)
        return LOCK_RESULT_OK;
    if (client->documents.length >= user_agent->limits.max[LIMIT_DOCUMENTS_PER_CLIENT] &&
        !close_unused(client))
        return lock_result_limit(LIMIT_DOCUMENTS_PER_CLIENT);
    opened = g_new(OpenedDocument, 1);
    opened->name = opened_make_name(user_agent, BUS_USER_DOCUMENTS_BUCKET, lock_name);
    opened->lock_name = g_strdup(lock_name);
    g_queue_push_tail(&client->documents, opened);
    *out_name = opened->name;
    return LOCK_RESULT_OK;
}

void
opened_restore(Client *client)
{
    g_autoptr(GHashTable) used = find_used(client->agent);
    GHashTableIter iter;
    const char *lock_name, *name;

    g_hash_table_iter_init(&iter, used);
    while (g_hash_table_iter_next(&iter, (gpointer *)&lock_name, NULL))
        opened_add(client, lock_name, &name);
}

const char *
opened_find(const Client *client, const char *name)
{
    for (const GList *link = client->documents.head; link != NULL; link = link->next)
        if (g_str_equal(((const OpenedDocument *)link->data)->name, name))
            return ((const OpenedDocument *)link->data)->lock_name;
    return NULL;
}

GHashTable *
opened_get_all(const Client *client)
{
    GHashTable *all = g_hash_table_new(g_str_hash, g_str_equal);

    for (const GList *link = client->documents.head; link != NULL; link = link->next) {
        const OpenedDocument *opened = link->data;

        g_hash_table_insert(all, opened->lock_name, opened->name);
    }
    return all;
}

void
opened_clear(Client *client)
{
    g_queue_clear_full(&client->documents, opened_free);
}
