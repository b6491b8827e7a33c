/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/watchers.h"

#include "service/bus/signals.h"
#include "service/core/lock-manager.h"
#include "service/core/principal.h"

/* What all of them may be told at a time. */
#define TOLD_BYTES_MAX (2UL * 1024 * 1024)

Watchers *
watchers_new(void)
{
    Watchers *watchers = g_new0(Watchers, 1);

    watchers->by_manager = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_queue_free);
    return watchers;
}

void
watchers_free(Watchers *watchers)
{
    g_assert(watchers->n_watches == 0);
    g_hash_table_unref(watchers->by_manager);
    g_free(watchers);
}

static void
remove_watch(Watch *watch)
{
    Watchers *watchers = watch->client->edge->watchers;
    GQueue *queue = g_hash_table_lookup(watchers->by_manager, watch->manager);

    g_queue_unlink(queue, &watch->in_bucket);
    if (queue->length == 0)
        g_hash_table_remove(watchers->by_manager, watch->manager);
    g_queue_unlink(&watch->client->watches, &watch->in_client);
    limits_discharge(watch->client->agent->principal->account, CHARGE_WATCH, 1);
    watchers->n_watches--;
    lock_manager_unref(watch->manager);
    g_free(watch);
}

static void
add_watch(Client *client, LockManager *manager)
{
    Watchers *watchers = client->edge->watchers;
    GQueue *queue = g_hash_table_lookup(watchers->by_manager, manager);
    Watch *watch = g_new0(Watch, 1);

    if (queue == NULL) {
        queue = g_queue_new();
        g_hash_table_insert(watchers->by_manager, manager, queue);
    }
    watch->client = client;
    watch->manager = lock_manager_ref(manager);
    watch->in_client.data = watch;
    watch->in_bucket.data = watch;
    g_queue_push_tail_link(queue, &watch->in_bucket);
    g_queue_push_tail_link(&client->watches, &watch->in_client);
    limits_charge(client->agent->principal->account, CHARGE_WATCH, 1);
    watchers->n_watches++;
}

LockResult
watchers_set(Client *client, LockManager *manager, gboolean enable)
{
    const Limits *limits = &client->edge->user_agent.limits;
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
watchers_remove_client(Client *client)
{
    Watch *watch;

    while ((watch = g_queue_peek_head(&client->watches)) != NULL)
        remove_watch(watch);
}

GList *
watchers_of_bucket(const Edge *edge, const LockManager *manager)
{
    GQueue *queue;

    if (edge->watchers->n_watches == 0)
        return NULL;
    queue = g_hash_table_lookup(edge->watchers->by_manager, manager);
    return queue != NULL ? queue->head : NULL;
}

/* One change may be for thousands of them, and one turn may have thousands of changes. */
static gboolean
has_room(Client *client)
{
    const Edge *edge = client->edge;
    LimitId limit;

    return edge->turn.n_bytes <= TOLD_BYTES_MAX &&
           edge->bus_link.outbox.n_bytes <= TOLD_BYTES_MAX &&
           link_may_tell_more(client->link, &limit);
}

gboolean
watchers_admit(Watch *watch)
{
    Client *client = watch->client;

    if (has_room(client) && confirm_admit_watched(client))
        return TRUE;
    watch->n_missed++;
    confirm_ask_of_watched(client);
    return FALSE;
}

void
watchers_tell_missed(Client *client)
{
    for (GList *link = client->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;

        if (watch->n_missed > 0) {
            signals_send_missed(client, watch->manager, watch->n_missed);
            watch->n_missed = 0;
        }
    }
}
