/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "faults.h"

#include "bus-names.h"
#include "encode.h"
#include "fault.h"
#include "lock-manager.h"
#include "lock-queue.h"
#include "principal.h"
#include "watches.h"

LockManager *
bus_faults_find_manager(const Client *client, const char *bucket)
{
    GHashTableIter iter;
    Principal *principal;

    if (!fault_is(FAULT_QUERY_UNFILTERED))
        return NULL;
    g_hash_table_iter_init(&iter, client->session->user_agent.principals);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&principal))
        if (principal != client->agent->principal && lock_manager_find(principal, bucket) != NULL)
            return lock_manager_find(principal, bucket);
    return NULL;
}

void
bus_faults_mistake_id(const Client *client, guint64 id, LockManager **manager, Agent **agent)
{
    GHashTableIter iter;
    Client *other;

    g_hash_table_iter_init(&iter, client->session->clients);
    while (fault_is(FAULT_FOREIGN_IDS) && g_hash_table_iter_next(&iter, NULL, (gpointer *)&other)) {
        LockRequest *request =
            other != client && other->agent != NULL ? agent_find_request(other->agent, id) : NULL;

        if (request != NULL) {
            *manager = request->queue->manager;
            *agent = request->agent;
        }
    }
}

void
bus_faults_let_last_overtake(const Client *client, guint64 id)
{
    const LockRequest *request = agent_find_request(client->agent, id);

    if (fault_is(FAULT_ABORT_BREAKS_FIFO) && request != NULL &&
        request->state == LOCK_REQUEST_PENDING)
        g_queue_push_head_link(&request->queue->pending,
                               g_queue_pop_tail_link(&request->queue->pending));
}

void
bus_faults_mistake_identity(PrincipalIdentity *identity)
{
    if (fault_is(FAULT_USERS_ARE_ONE))
        identity->uid = 0;
    if (fault_is(FAULT_APP_ID_IGNORED)) {
        identity->kind = PRINCIPAL_UNSANDBOXED;
        identity->app_id = "";
    }
}

gboolean
bus_faults_tell_name(Client *client, const LockCall *call)
{
    GHashTableIter iter;
    Client *other;

    g_hash_table_iter_init(&iter, client->session->clients);
    while (fault_is(FAULT_ERROR_TELLS_NAME) &&
           g_hash_table_iter_next(&iter, NULL, (gpointer *)&other)) {
        const LockRequest *request = other->agent != NULL && other != client
                                         ? g_queue_peek_head(&other->agent->requests)
                                         : NULL;

        if (request != NULL) {
            g_autofree char *text =
                g_strdup_printf("But %s has %s", other->unique_name, request->queue->name);

            encode_error(client, call, BUS_ERROR_NOT_HELD, text);
            return TRUE;
        }
    }
    return FALSE;
}

static void
broadcast(Server *server, const Effect *effect)
{
    const LockQueue *queue = effect->request->queue;

    sd_bus_emit_signal(server->bus.connection,
                       bus_get_bucket_path(&server->bus, queue->manager->bucket),
                       BUS_LOCKS_INTERFACE, "Granted", "tssst", effect->request->id, queue->name,
                       lock_mode_to_string(effect->request->mode),
                       effect->request->agent->client_id, effect->request->token);
}

static void
tell_other_watchers(Server *server, const Effect *effect)
{
    const LockManager *manager = effect->request->queue->manager;
    GHashTableIter iter;
    LockManager *other;

    g_hash_table_iter_init(&iter, server->watches->by_manager);
    while (g_hash_table_iter_next(&iter, (gpointer *)&other, NULL)) {
        if (other == manager || !g_str_equal(other->bucket, manager->bucket))
            continue;
        for (GList *link = watches_of_bucket(server, other); link != NULL; link = link->next)
            encode_effect(((Watch *)link->data)->client, effect);
    }
}

void
bus_faults_tell_effect(Server *server, const Effect *effect)
{
    if (fault_is(FAULT_BROADCAST))
        broadcast(server, effect);
    if (fault_is(FAULT_WATCH_UNFILTERED))
        tell_other_watchers(server, effect);
}

void
bus_faults_search_clients(const Server *server, const char *name)
{
    GHashTableIter iter;
    Client *client;

    if (!fault_is(FAULT_ENDS_SEARCHED_FOR))
        return;
    g_hash_table_iter_init(&iter, server->session.clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        if (g_str_equal(client->unique_name, name))
            return;
}

void
bus_faults_log(const LockCall *call, gboolean is_error)
{
    if (fault_is(FAULT_LOG_UNLIMITED) && is_error)
        g_warning("%s has failed", lock_call_get_name(call));
    if (fault_is(FAULT_LOG_UNESCAPED) && call->name != NULL)
        g_printerr("%s\n", call->name);
}
