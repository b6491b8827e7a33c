/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "gateway.h"

#include "entry.h"
#include "remote.h"
#include "status.h"

#define TURN_DEFAULT_SECS 10

/* An entry that is needed again within this time is still there, and so is the node of its name,
 * which is then deleted, unless it has claims of other hosts: ZooKeeper deletes it by itself, too,
 * but only 10,000 a minute, and a host can use more names than that. While there are very many,
 * further ones are left to ZooKeeper. */
#define KEPT_US   (G_GINT64_CONSTANT(3) * G_USEC_PER_SEC)
#define ENDED_MAX 10000

/* In a second, so that operations of locks don't wait for them. */
#define DELETIONS_MAX 1000

struct Gateway {
    const GatewayOptions *options;
    Session *session;
    ServiceSocket *service;
    EntryContext context;
    GHashTable *entries;   /* path -> Entry; owned */
    GHashTable *ended;     /* set of those that have ended */
    guint ended_source;    /* 0: there are none */
    GHashTable *unsettled; /* set of entries of which it is not known whether they give permits */
    gboolean is_ready;     /* the lock service has sent all its demands */
    gboolean has_sent_synced;
    gboolean is_sweeping; /* see sweep() */
    gboolean has_refused; /* a demand, and that was logged */
};

/* ---- entries */

static gint64
get_turn_us(const Gateway *gateway, const char *bucket)
{
    const ClusterBucketConfig *config = cluster_config_find(gateway->options->config, bucket);

    return (gint64)(config != NULL ? config->turn_secs : TURN_DEFAULT_SECS) * G_USEC_PER_SEC;
}

static Entry *
get_entry(Gateway *gateway, const char *bucket, guint32 uid, const char *name)
{
    g_autofree char *path = engine_path_name(gateway->options->config->root, bucket, uid, name);
    Entry *entry = g_hash_table_lookup(gateway->entries, path);

    if (entry != NULL)
        return entry;
    entry = entry_new(&gateway->context, path, bucket, uid, name, get_turn_us(gateway, bucket));
    g_hash_table_insert(gateway->entries, entry->path, entry);
    if (session_get_engine(gateway->session) != NULL)
        entry_session_ready(entry);
    return entry;
}

/* An input may close the entry that it is for. */
static void
for_each_entry(const Gateway *gateway, void (*input)(Entry *entry))
{
    g_autoptr(GList) entries = g_hash_table_get_values(gateway->entries);

    for (GList *link = entries; link != NULL; link = link->next)
        input(link->data);
}

/* A name with claims stays, and what has failed is left to ZooKeeper. */
static void
on_deleted(G_GNUC_UNUSED const EngineAnswer *answer, G_GNUC_UNUSED gpointer data)
{
}

static void
drop_entry(Gateway *gateway, Entry *entry)
{
    g_hash_table_remove(gateway->unsettled, entry);
    g_hash_table_remove(gateway->entries, entry->path);
}

static gboolean
on_ended_tick(gpointer data)
{
    Gateway *gateway = data;
    Engine *engine = session_get_engine(gateway->session);
    gint64 until_us = g_get_monotonic_time() - KEPT_US;
    GHashTableIter iter;
    Entry *entry;
    guint n_deleted = 0;

    g_hash_table_iter_init(&iter, gateway->ended);
    while (n_deleted < DELETIONS_MAX && g_hash_table_iter_next(&iter, (gpointer *)&entry, NULL)) {
        if (entry->ended_us > until_us)
            continue;
        if (engine != NULL)
            engine_delete(engine, entry->path, NULL, on_deleted, NULL);
        g_hash_table_iter_remove(&iter);
        drop_entry(gateway, entry);
        n_deleted++;
    }
    if (g_hash_table_size(gateway->ended) > 0)
        return G_SOURCE_CONTINUE;
    gateway->ended_source = 0;
    return G_SOURCE_REMOVE;
}

static void
keep_ended(Gateway *gateway, Entry *entry)
{
    entry->handle = 0;
    if (g_hash_table_size(gateway->ended) >= ENDED_MAX &&
        !g_hash_table_contains(gateway->ended, entry)) {
        drop_entry(gateway, entry);
        return;
    }
    g_hash_table_add(gateway->ended, entry);
    if (gateway->ended_source == 0)
        gateway->ended_source = g_timeout_add_seconds(1, on_ended_tick, gateway);
}

/* Whether a claim is of this session, and nothing needs it: each name of which something is held
 * has an entry. */
static gboolean
is_left(const char *name_path, const char *node, gpointer data)
{
    const Gateway *gateway = data;
    const Entry *entry = g_hash_table_lookup(gateway->entries, name_path);
    ClaimName name;

    if (session_get_engine(gateway->session) == NULL || !claim_name_parse(node, &name) ||
        name.session != session_get_id(gateway->session))
        return FALSE;
    return entry == NULL || !claim_uses_node(entry->claim, &name);
}

static void
on_swept(const EngineAnswer *answer, gpointer data)
{
    Gateway *gateway = data;

    gateway->is_sweeping = FALSE;
    if (!session_check_answer(gateway->session, answer, FALSE) || answer->result != ENGINE_OK)
        return; /* again with the next connection */
    session_set_found(gateway->session);
}

/* Deletes the claims that an earlier process has left, and that give no permit. They are looked for
 * after all that is held was confirmed: among all claims of all hosts, unless it is known which
 * names they can have. */
static void
sweep(Gateway *gateway)
{
    char **paths;

    if (gateway->is_sweeping || !gateway->session->is_reattached)
        return;
    paths = gateway->session->left;
    if (paths != NULL && paths[0] == NULL) {
        session_set_found(gateway->session);
        return;
    }
    gateway->is_sweeping = TRUE;
    engine_sweep(session_get_engine(gateway->session), paths, is_left, on_swept, gateway);
}

/* Sends SYNCED when it is known which of the earlier claims give permits. */
static void
send_synced(Gateway *gateway)
{
    if (!gateway->is_ready || session_get_engine(gateway->session) == NULL ||
        g_hash_table_size(gateway->unsettled) > 0)
        return;
    if (!gateway->has_sent_synced)
        service_socket_send(gateway->service, CLUSTER_PACKET_SYNCED);
    gateway->has_sent_synced = TRUE;
    sweep(gateway);
}

void
gateway_entry_changed(Gateway *gateway, Entry *entry)
{
    if (claim_is_settled(entry->claim))
        g_hash_table_remove(gateway->unsettled, entry);
    else
        g_hash_table_add(gateway->unsettled, entry);
    if (entry->ended_us != 0)
        keep_ended(gateway, entry);
    else
        g_hash_table_remove(gateway->ended, entry);
    send_synced(gateway);
}

/* Once the lock service has sent all its demands, the other entries have none. */
static void
drop_unwanted(Entry *entry)
{
    if (entry->handle == 0)
        entry_drop_demand(entry);
}

/* ---- the session */

void
gateway_session_ready(Gateway *gateway)
{
    g_message("connected to ZooKeeper, session 0x%" G_GINT64_MODIFIER "x",
              session_get_id(gateway->session));
    for_each_entry(gateway, entry_session_ready);
    send_synced(gateway);
}

void
gateway_session_interrupted(Gateway *gateway)
{
    g_message("the connection to ZooKeeper has broken");
    for_each_entry(gateway, entry_session_interrupted);
}

void
gateway_session_ended(Gateway *gateway)
{
    for_each_entry(gateway, entry_session_ended);
}

void
gateway_node_changed(Gateway *gateway, const char *name_path)
{
    Entry *entry = g_hash_table_lookup(gateway->entries, name_path);

    if (entry != NULL)
        entry_node_changed(entry);
}

void
gateway_lease_changed(Gateway *gateway, guint64 serial)
{
    const Session *session = gateway->session;
    const gint64 deadline_us = session->lease.deadline_us;

    service_socket_send(gateway->service, CLUSTER_PACKET_LEASE, serial, deadline_us,
                        deadline_us != 0 ? session_get_id(session) : 0, session->state,
                        session->reason);
}

gboolean
gateway_has_nodes(const Gateway *gateway)
{
    GHashTableIter iter;
    const Entry *entry;

    g_hash_table_iter_init(&iter, gateway->entries);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&entry))
        if (claim_has_node(entry->claim))
            return TRUE;
    return FALSE;
}

/* ---- the lock service */

static void
on_hello(gpointer data)
{
    Gateway *gateway = data;

    gateway->is_ready = FALSE;
    gateway->has_sent_synced = FALSE;
    session_service_connected(gateway->session);
}

/* Whether weblocksd has read the same of the bucket: the servers' settings were compared with those
 * that this process has read. */
static gboolean
is_as_configured(const Gateway *gateway, const ClusterDemand *message)
{
    const ClusterBucketConfig *bucket =
        cluster_config_find(gateway->options->config, message->bucket);

    return bucket != NULL && bucket->is_shared == (message->uid == CLUSTER_NO_UID);
}

static void
take_demand(Gateway *gateway, const ClusterDemand *message)
{
    Entry *entry;

    if (!is_as_configured(gateway, message)) {
        if (!gateway->has_refused)
            g_warning("weblocksd has read another configuration of the bucket '%s': restart both",
                      message->bucket);
        gateway->has_refused = TRUE;
        service_socket_disconnect(gateway->service);
        return;
    }
    entry = get_entry(gateway, message->bucket, message->uid, message->name);
    if (entry->handle != 0 && entry->handle != message->handle) {
        g_warning("weblocksd has used two handles for one name");
        service_socket_disconnect(gateway->service);
        return;
    }
    entry_set_demand(entry, message);
}

static void
answer_question(const Gateway *gateway, const ClusterQuestion *question)
{
    if (question->answer == CLUSTER_PACKET_STATUS)
        status_send(gateway->session, gateway->service, question->serial);
    else
        remote_ask(gateway->session, gateway->service, question);
}

static void
on_received(const ClusterMessage *message, gpointer data)
{
    Gateway *gateway = data;

    switch (message->kind) {
    case CLUSTER_PACKET_DEMAND:
        take_demand(gateway, &message->demand);
        break;
    case CLUSTER_PACKET_READY:
        gateway->is_ready = TRUE;
        for_each_entry(gateway, drop_unwanted);
        send_synced(gateway);
        break;
    case CLUSTER_PACKET_ACK:
        session_acknowledge(gateway->session, message->serial);
        break;
    case CLUSTER_PACKET_ASK:
        answer_question(gateway, &message->question);
        break;
    default:
        g_assert_not_reached();
    }
}

static void
on_closed(gpointer data)
{
    Gateway *gateway = data;

    gateway->is_ready = FALSE;
    session_service_disconnected(gateway->session);
    for_each_entry(gateway, entry_service_disconnected);
}

static const ServiceSocketFunctions service_functions = {on_hello, on_received, on_closed};

/* ---- */

Gateway *
gateway_new(const GatewayOptions *options, GError **error)
{
    g_autoptr(Gateway) gateway = g_new0(Gateway, 1);

    gateway->options = options;
    gateway->entries =
        g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)entry_close);
    gateway->unsettled = g_hash_table_new(NULL, NULL);
    gateway->ended = g_hash_table_new(NULL, NULL);
    gateway->service = service_socket_new(options->socket_path, options->service_uid,
                                          &service_functions, gateway, error);
    if (gateway->service == NULL)
        return NULL;
    gateway->session = session_new(options, gateway);
    gateway->context = (EntryContext){
        .session = gateway->session,
        .service = gateway->service,
        .last_turn = g_random_int(),
        .gateway = gateway,
    };
    return g_steal_pointer(&gateway);
}

void
gateway_free(Gateway *gateway)
{
    if (gateway->session != NULL) {
        session_leave(gateway->session, gateway->entries);
        session_free(gateway->session); /* which answers what is in progress */
    }
    g_clear_handle_id(&gateway->ended_source, g_source_remove);
    g_hash_table_unref(gateway->ended);
    g_hash_table_unref(gateway->unsettled);
    g_hash_table_unref(gateway->entries);
    g_clear_pointer(&gateway->service, service_socket_free);
    g_free(gateway);
}
