/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "watches.h"

#include "encode.h"
#include "lock-manager.h"
#include "principal.h"

/* What all of them may be told at a time. */
#define TOLD_BYTES_MAX (2UL * 1024 * 1024)

Watches *
watches_new(void)
{
    Watches *watches = g_new0(Watches, 1);

    watches->by_manager = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_queue_free);
    return watches;
}

void
watches_free(Watches *watches)
{
    g_assert(watches->n_watches == 0);
    g_hash_table_unref(watches->by_manager);
    g_free(watches);
}

static void
remove_watch(Watch *watch)
{
    Watches *watches = server_of(watch->client)->watches;
    GQueue *queue = g_hash_table_lookup(watches->by_manager, watch->manager);

    g_queue_unlink(queue, &watch->in_bucket);
    if (queue->length == 0)
        g_hash_table_remove(watches->by_manager, watch->manager);
    g_queue_unlink(&watch->client->watches, &watch->in_client);
    limits_discharge(watch->client->agent->principal->account, CHARGE_WATCH, 1);
    watches->n_watches--;
    lock_manager_unref(watch->manager);
    g_free(watch);
}

static void
add_watch(Client *client, LockManager *manager)
{
    Watches *watches = server_of(client)->watches;
    GQueue *queue = g_hash_table_lookup(watches->by_manager, manager);
    Watch *watch = g_new0(Watch, 1);

    if (queue == NULL) {
        queue = g_queue_new();
        g_hash_table_insert(watches->by_manager, manager, queue);
    }
    watch->client = client;
    watch->manager = lock_manager_ref(manager);
    watch->in_client.data = watch;
    watch->in_bucket.data = watch;
    g_queue_push_tail_link(queue, &watch->in_bucket);
    g_queue_push_tail_link(&client->watches, &watch->in_client);
    limits_charge(client->agent->principal->account, CHARGE_WATCH, 1);
    watches->n_watches++;
}

LockResult
watches_set(Client *client, LockManager *manager, gboolean enable)
{
    const Limits *limits = &client->session->user_agent.limits;
    LimitId limit;

    for (GList *link = client->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;

        if (watch->manager == manager) {
            if (!enable)
                remove_watch(watch);
            return LOCK_RESULT_OK;
        }
    }
    if (!enable)
        return LOCK_RESULT_OK;
    if (client->watches.length >= limits->max[LIMIT_WATCHES_PER_CLIENT])
        return lock_result_limit(LIMIT_WATCHES_PER_CLIENT);
    if (!limits_admit(limits, client->agent->principal->account, CHARGE_WATCH, 1, &limit))
        return lock_result_limit(limit);
    add_watch(client, manager);
    return LOCK_RESULT_OK;
}

void
watches_remove_client(Client *client)
{
    Watch *watch;

    while ((watch = g_queue_peek_head(&client->watches)) != NULL)
        remove_watch(watch);
}

GList *
watches_of_bucket(const Server *server, const LockManager *manager)
{
    GQueue *queue;

    if (server->watches->n_watches == 0)
        return NULL;
    queue = g_hash_table_lookup(server->watches->by_manager, manager);
    return queue != NULL ? queue->head : NULL;
}

/* One change may be for thousands of watchers, and one turn may have thousands of changes. */
static gboolean
has_room(const Server *server)
{
    return server->session.turn.n_bytes <= TOLD_BYTES_MAX &&
           server->bus.outbox.n_bytes <= TOLD_BYTES_MAX;
}

gboolean
watches_admit(Watch *watch)
{
    Client *client = watch->client;

    if (has_room(server_of(client)) && flow_control_admit_watched(client->flow))
        return TRUE;
    watch->n_missed++;
    flow_control_ask(client->flow);
    return FALSE;
}

void
watches_tell_missed(Client *client)
{
    if (!flow_control_may_tell_missed(client->flow))
        return;
    for (GList *link = client->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;

        if (watch->n_missed > 0) {
            encode_missed(client, watch->manager->bucket, watch->n_missed);
            watch->n_missed = 0;
        }
    }
}
