/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "watches.h"

#include "bus.h"
#include "encode.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"

/* The maximum size of signals for all watchers together in one turn. */
#define SIGNAL_BYTES_MAX (2UL * 1024 * 1024)

static GQueue *
get_subject(const Client *client, LockManager *manager)
{
    return manager != NULL ? &manager->watches
                           : &principal_get_scope(client->agent->principal)->watches;
}

static void
remove_watch(Watch *watch)
{
    Client *client = watch->client;

    g_queue_unlink(get_subject(client, watch->manager), &watch->in_subject);
    g_queue_unlink(&client->watches, &watch->in_client);
    limits_discharge(&client->agent->principal->account, CHARGE_WATCH, 1);
    g_clear_pointer(&watch->manager, lock_manager_unref);
    g_free(watch);
}

static void
add_watch(Client *client, LockManager *manager)
{
    Watch *watch = g_new0(Watch, 1);

    watch->client = client;
    watch->manager = manager != NULL ? lock_manager_ref(manager) : NULL;
    watch->in_client.data = watch;
    watch->in_subject.data = watch;
    g_queue_push_tail_link(get_subject(client, manager), &watch->in_subject);
    g_queue_push_tail_link(&client->watches, &watch->in_client);
    limits_charge(&client->agent->principal->account, CHARGE_WATCH, 1);
}

static Watch *
find_watch(const Client *client, const LockManager *manager)
{
    for (const GList *link = client->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;

        if (watch->manager == manager)
            return watch;
    }
    return NULL;
}

/* Removes a watch at the client's request. Signals that it was not sent of this bucket were not
 * sent for the client's watch of all buckets either, so they are then counted there. */
static void
end_watch(Watch *watch)
{
    Watch *of_all = watch->manager != NULL ? find_watch(watch->client, NULL) : NULL;

    if (of_all != NULL)
        of_all->n_missed += watch->n_missed;
    remove_watch(watch);
}

LockResult
watches_set(Client *client, LockManager *manager, gboolean enable)
{
    const Limits *limits = &client->server->user_agent.limits;
    Watch *watch = find_watch(client, manager);
    LimitId limit;

    if (watch != NULL && !enable)
        end_watch(watch);
    if (watch != NULL || !enable)
        return LOCK_RESULT_OK;
    if (client->watches.length >= limits->max[LIMIT_WATCHES_PER_CLIENT])
        return lock_result_limit(LIMIT_WATCHES_PER_CLIENT);
    if (!limits_admit(limits, &client->agent->principal->account, CHARGE_WATCH, 1, &limit))
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

/* Whether more signals may be queued in this turn: one change may concern thousands of watchers,
 * and one turn may have thousands of changes. */
static gboolean
can_queue_signal(const Server *server)
{
    return server->turn.n_bytes <= SIGNAL_BYTES_MAX && server->bus->n_bytes <= SIGNAL_BYTES_MAX;
}

/* Whether one more signal may be sent to this watcher; if not, it is counted as dropped. */
static gboolean
admit(Watch *watch)
{
    Client *client = watch->client;

    if (can_queue_signal(client->server) && flow_control_admit_watched(client->flow))
        return TRUE;
    watch->n_missed++;
    flow_control_ask(client->flow);
    return FALSE;
}

/* Notifies those who watch this object. */
static void
notify_watches(const LockManager *watched, const Effect *effect, const Client *notified)
{
    for (const GList *link = watched->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;

        if (watch->client != notified && admit(watch))
            encode_effect(watch->client, effect, watched->bucket);
    }
}

/* The name of the bucket for a client that watches all: as lists show it, but for own requests. */
static const char *
get_name(const Client *client, const LockRequest *request)
{
    const LockManager *manager = request->queue->manager;

    return request->agent == client->agent ? manager->bucket
                                           : lock_manager_get_name_for(manager, client->agent);
}

/* Whether the client also watches the bucket by itself, by this name. */
static gboolean
is_watched(const Client *client, const LockManager *manager, const char *name)
{
    const LockManager *named =
        name == manager->bucket ? manager : lock_manager_find(manager->principal, name);

    return named != NULL && named->watches.length > 0 && find_watch(client, named) != NULL;
}

/* Notifies those who watch all that they may look at, and not this bucket as well. */
static void
notify_watches_of_all(const LimitsAccount *account, const Effect *effect, const Client *notified)
{
    const LockManager *manager = effect->request->queue->manager;

    for (const GList *link = account->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;
        const char *name = get_name(watch->client, effect->request);

        if (watch->client != notified && client_may_observe(watch->client, manager->principal) &&
            !is_watched(watch->client, manager, name) && admit(watch))
            encode_effect(watch->client, effect, name);
    }
}

/* The members are clients of any principal. */
static void
notify_members(Server *server, const Effect *effect, const Client *notified)
{
    GHashTableIter iter;
    Principal *principal;

    g_hash_table_iter_init(&iter, server->user_agent.principals);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&principal))
        notify_watches_of_all(&principal->account, effect, notified);
}

void
watches_notify(Server *server, const Effect *effect, const Client *notified)
{
    const LockManager *manager = effect->request->queue->manager;
    const LockManager *shown = NULL; /* under the public name of a private session */

    notify_watches(manager, effect, notified);
    if (manager->session != NULL)
        shown = lock_manager_find(manager->principal, manager->session->public_name);
    if (shown != NULL)
        notify_watches(shown, effect, NULL);
    if (principal_has_members(&manager->principal->identity))
        notify_members(server, effect, notified);
    for (const LimitsAccount *account = &manager->principal->account; account != NULL;
         account = account->parent)
        notify_watches_of_all(account, effect, notified);
}

void
watches_notify_missed(Client *client)
{
    if (!flow_control_may_send_missed(client->flow))
        return;
    for (GList *link = client->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;

        if (watch->n_missed > 0) {
            encode_missed(client, watch->manager, watch->n_missed);
            watch->n_missed = 0;
        }
    }
}
