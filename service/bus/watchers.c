/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/watchers.h"

#include "common/wire-names.h"
#include "service/bus/signals.h"
#include "service/core/lock-manager.h"
#include "service/core/principal.h"

/* A watcher is asked after this many signals whether it has read them, */
#define PING_AFTER 256
/* and gets no more than this many without an answer. */
#define UNCONFIRMED_MAX 1024
/* When the bus did not let the question through, it is asked again after this time. */
#define PING_AGAIN_SECS 1

Watchers *
watchers_new(void)
{
    Watchers *watchers = g_new0(Watchers, 1);

    watchers->by_manager = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_queue_free);
    g_queue_init(&watchers->to_ping);
    return watchers;
}

void
watchers_free(Watchers *watchers)
{
    g_assert(watchers->n_watches == 0);
    g_queue_clear(&watchers->to_ping);
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
    if (client->wants_ping)
        g_queue_remove(&client->edge->watchers->to_ping, client);
    client->wants_ping = FALSE;
    g_clear_handle_id(&client->ping_again_id, g_source_remove);
    g_clear_pointer(&client->ping, sd_bus_slot_unref);
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

static void
want_ping(Client *client)
{
    if (client->ping != NULL || client->ping_again_id != 0 || client->wants_ping ||
        client->n_unconfirmed < PING_AFTER)
        return;
    client->wants_ping = TRUE;
    g_queue_push_tail(&client->edge->watchers->to_ping, client);
}

gboolean
watchers_admit(Watch *watch)
{
    Client *client = watch->client;

    if (client->n_unconfirmed >= UNCONFIRMED_MAX) {
        watch->n_missed++;
        want_ping(client);
        return FALSE;
    }
    client->n_unconfirmed++;
    want_ping(client);
    return TRUE;
}

/* Errors of the bus itself, or of sd-bus, say nothing about what the watcher has read. */
static gboolean
is_from_client(sd_bus_message *reply, const Client *client)
{
    const char *sender = sd_bus_message_get_sender(reply);

    if (sd_bus_message_get_bus(reply) != client->edge->bus_link.bus) /* a private socket */
        return g_strcmp0(sender, WIRE_LOCAL_NAME) != 0;
    return g_strcmp0(sender, client->unique_name) == 0;
}

static gboolean
on_ping_again(gpointer data)
{
    Client *client = data;

    client->ping_again_id = 0;
    want_ping(client);
    edge_end_turn(client->edge);
    return G_SOURCE_REMOVE;
}

static int
on_pong(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
    Client *client = userdata;

    g_clear_pointer(&client->ping, sd_bus_slot_unref);
    if (!is_from_client(reply, client)) {
        client->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, client);
        return 1;
    }

    client->n_unconfirmed -= client->n_confirmed_by_ping;
    for (GList *link = client->watches.head; link != NULL; link = link->next) {
        Watch *watch = link->data;

        if (watch->n_missed > 0) {
            signals_send_missed(client, watch->manager, watch->n_missed);
            watch->n_missed = 0;
        }
    }
    want_ping(client);
    return 1;
}

static void
send_ping(Client *client)
{
    g_autoptr(SdBusMessage) ping = NULL;
    int r = sd_bus_message_new_method_call(client->link->bus, &ping, client->unique_name, "/",
                                           "org.freedesktop.DBus.Peer", "Ping");

    client->wants_ping = FALSE;
    client->ping_link = client->link;
    client->n_confirmed_by_ping = client->n_unconfirmed;
    /* Without a time limit: however late it reads, it has read what came before. */
    if (r >= 0)
        r = sd_bus_call_async(client->link->bus, &client->ping, ping, on_pong, client, UINT64_MAX);
    if (r < 0)
        client->ping_again_id = g_timeout_add_seconds(PING_AGAIN_SECS, on_ping_again, client);
}

void
watchers_link_closed(Client *client, const Link *link)
{
    if (client->ping == NULL || client->ping_link != link)
        return;
    g_clear_pointer(&client->ping, sd_bus_slot_unref);
    want_ping(client);
}

void
watchers_send_pings(Edge *edge)
{
    for (guint n_left = edge->watchers->to_ping.length; n_left > 0; n_left--) {
        Client *client = g_queue_pop_head(&edge->watchers->to_ping);

        if (outbox_get_length(&client->link->outbox) == 0 &&
            !outbox_is_backed_up(&client->link->outbox))
            send_ping(client);
        else /* it must not overtake what it asks for */
            g_queue_push_tail(&edge->watchers->to_ping, client);
    }
}
