/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cluster-calls.h"

#include <string.h>

#include "bus-names.h"
#include "bus.h"
#include "cluster-config.h"
#include "cluster.h"
#include "encode.h"
#include "lists.h"
#include "lock-manager.h"
#include "objects.h"
#include "operations.h"
#include "packet-socket.h"
#include "principal.h"
#include "target.h"

/* How long a reply with a list waits, and one to Break: as long as that to a steal; how many calls
 * the gateway is asked about at a time, in total and of one user. */
#define LIST_PATIENCE_MS  2000
#define BREAK_PATIENCE_MS 5000
#define CALLS_MAX         256
#define CALLS_OF_A_UID    64

G_STATIC_ASSERT(CLUSTER_HOST_BYTES_MAX == BUS_HOST_BYTES_MAX);

/* A call that the gateway is asked about. When it has waited for long enough it is replied to, but
 * counts until the gateway has answered: so that has at most CALLS_MAX of them. */
typedef struct {
    Server *server;
    guint64 serial; /* of ASK */
    guint32 caller_uid;
    char *unique_name;
    LockCall *call;
    guint32 n_ended; /* by Break, on this host */
    gboolean is_replied;
    guint timeout_id;
} AskedCall;

/* ---- who may use a bucket */

static gboolean
has_queue(const LockCall *call, const Target *target)
{
    const LockManager *manager = target_find_manager(target);

    return manager != NULL && g_hash_table_contains(manager->queues, call->name);
}

static LockResult
check_name_length(const LockCall *call)
{
    return strlen(call->name) > CLUSTER_NAME_BYTES_MAX ? lock_result_limit(LIMIT_NAME_BYTES)
                                                       : LOCK_RESULT_OK;
}

/* A name that has a queue, or for which there is room in the gateway: that may keep a name for a
 * while when its requests have ended. */
static LockResult
check_name(const Client *client, const LockCall *call, const Target *target)
{
    LockResult result;
    LimitId limit;

    if (call->name == NULL)
        return LOCK_RESULT_OK;
    if ((result = check_name_length(call)) != LOCK_RESULT_OK)
        return result;
    if (!has_queue(call, target) &&
        !limits_admit(&client->server->user_agent.limits, &client->agent->principal->account,
                      CHARGE_DEMAND, 1, &limit))
        return lock_result_limit(limit);
    return LOCK_RESULT_OK;
}

/* Returns the name of the host after `host:` in the filter; NULL: there is none. */
static const char *
get_filter_host(const InspectFilter *filter)
{
    return filter->client_id != NULL && g_str_has_prefix(filter->client_id, BUS_HOST_PREFIX)
               ? filter->client_id + strlen(BUS_HOST_PREFIX)
               : NULL;
}

/* The gateway would take an empty name for all hosts, and a packet that is too long for an error.
 */
static LockResult
check_break(const LockCall *call)
{
    const char *host = get_filter_host(&call->filter);

    if (host != NULL && (host[0] == '\0' || strlen(host) > CLUSTER_HOST_BYTES_MAX))
        return LOCK_RESULT_NO_HOST_NAME;
    return check_name_length(call);
}

/* uid 0 may look at all buckets, and end what is held in those that are shared. */
static gboolean
may_use(const Client *client, const LockCall *call, const Target *target)
{
    if (client_is_admitted(client, call->bucket))
        return TRUE;
    if (target->owner.kind == PRINCIPAL_CLUSTER)
        return client->agent->principal->identity.uid == 0 &&
               (call->kind != LOCK_CALL_REQUEST || call->options.steal);
    return call->owner.is_other;
}

LockResult
cluster_calls_check(const Client *client, const LockCall *call, const Target *target)
{
    const Server *server = client->server;
    const ClusterBucketConfig *bucket = NULL;
    const PrincipalIdentity *caller = &client->agent->principal->identity;

    /* An application does not see which buckets there are. */
    if (server->cluster != NULL && caller->kind != PRINCIPAL_UNSANDBOXED)
        return LOCK_RESULT_NO_ACCESS;
    if (server->cluster != NULL && call->owner.identity.kind == PRINCIPAL_UNSANDBOXED)
        bucket = cluster_find_bucket(server->cluster, call->bucket);
    /* A shared bucket has one path. */
    if (bucket == NULL || (bucket->is_shared && call->owner.is_other))
        return LOCK_RESULT_NO_CLUSTER;
    if (lock_call_is_about_own(call))
        return LOCK_RESULT_OK;
    if (!may_use(client, call, target))
        return LOCK_RESULT_NO_ACCESS;
    if (call->kind == LOCK_CALL_REQUEST)
        return check_name(client, call, target);
    return call->kind == LOCK_CALL_BREAK ? check_break(call) : LOCK_RESULT_OK;
}

/* ---- calls that wait for other hosts */

static void
asked_call_free(gpointer data)
{
    AskedCall *asked = data;

    g_clear_handle_id(&asked->timeout_id, g_source_remove);
    lock_call_free(asked->call);
    g_free(asked->unique_name);
    g_free(asked);
}

/* `answer` is NULL if there is none. */
static void
reply_to_inspect(Client *client, const LockCall *call, const ClusterMessage *answer)
{
    const Target target = target_resolve(client, call);

    lists_send(client, call, &target, answer != NULL ? answer->rows.rows : NULL);
}

static void
reply_to_break(Client *client, const AskedCall *asked, const ClusterMessage *answer)
{
    LockReply reply = {.result = LOCK_RESULT_UNREACHED};

    if (answer != NULL && !answer->broken.failed)
        reply = (LockReply){LOCK_RESULT_OK, .n_ended = asked->n_ended + answer->broken.count};
    notify_reply(client, &bus_channel, asked->call, &reply);
}

/* Replies, unless that has been done or the client has disconnected. `answer` is NULL if there is
 * none. */
static void
reply(AskedCall *asked, const ClusterMessage *answer)
{
    Client *client = server_find_client(asked->server, asked->unique_name);

    if (client == NULL || asked->is_replied)
        return;
    asked->is_replied = TRUE;
    if (asked->call->kind == LOCK_CALL_INSPECT)
        reply_to_inspect(client, asked->call, answer);
    else if (asked->call->kind == LOCK_CALL_BREAK)
        reply_to_break(client, asked, answer);
    else
        objects_reply(client, asked->call, answer != NULL ? &answer->status : NULL);
}

/* At the end of the lease clock_tick() disconnects the gateway, which ends all calls. */
static gboolean
on_timeout(gpointer data)
{
    AskedCall *asked = data;
    Server *server = asked->server;

    asked->timeout_id = 0;
    clock_tick(server);
    if (g_ptr_array_find(server->cluster_calls, asked, NULL))
        reply(asked, NULL);
    return G_SOURCE_REMOVE;
}

/* Whether the call is about other hosts as well: a Break, or an Inspect of a name that they can
 * have. */
static gboolean
concerns_others(const LockCall *call)
{
    const InspectFilter *filter = &call->filter;

    if (filter->by_id || (filter->client_id != NULL && get_filter_host(filter) == NULL))
        return FALSE;
    return call->kind == LOCK_CALL_BREAK ||
           (filter->name != NULL && strlen(filter->name) <= CLUSTER_NAME_BYTES_MAX &&
            (filter->prefix == NULL || g_str_has_prefix(filter->name, filter->prefix)) &&
            filter->after != G_MAXUINT64);
}

static ClusterPacketKind
get_answer(const LockCall *call)
{
    if (call->kind == LOCK_CALL_BREAK)
        return CLUSTER_PACKET_BROKEN;
    return call->kind == LOCK_CALL_INSPECT ? CLUSTER_PACKET_ROWS : CLUSTER_PACKET_STATUS;
}

/* There is one question for the status at a time. */
static guint64
ask_status(const Server *server)
{
    for (guint i = 0; i < server->cluster_calls->len; i++) {
        const AskedCall *asked = server->cluster_calls->pdata[i];

        if (get_answer(asked->call) == CLUSTER_PACKET_STATUS)
            return asked->serial;
    }
    return cluster_ask(server->cluster, CLUSTER_PACKET_STATUS, 0, NULL, NULL, NULL);
}

/* Returns the serial number of the answer, or 0 if the gateway can't be asked. */
static guint64
ask_gateway(const Server *server, const LockCall *call, guint32 uid)
{
    const ClusterPacketKind answer = get_answer(call);

    if (answer == CLUSTER_PACKET_STATUS)
        return ask_status(server);
    return cluster_ask(server->cluster, answer, uid, call->bucket,
                       answer == CLUSTER_PACKET_ROWS ? call->filter.name : call->name,
                       answer == CLUSTER_PACKET_ROWS ? NULL : get_filter_host(&call->filter));
}

static gboolean
can_ask(const GPtrArray *all, guint32 caller_uid)
{
    guint n = 0;

    for (guint i = 0; i < all->len; i++)
        n += ((const AskedCall *)all->pdata[i])->caller_uid == caller_uid ? 1 : 0;
    return n < CALLS_OF_A_UID && all->len < CALLS_MAX;
}

/* `uid` is the owner of the bucket. */
static ClusterAsk
ask(Client *client, const LockCall *call, guint32 caller_uid, guint32 uid, guint32 n_ended)
{
    Server *server = client->server;
    AskedCall *asked;
    guint64 serial;

    if (server->stage != SERVER_RUNNING || !can_ask(server->cluster_calls, caller_uid) ||
        (serial = ask_gateway(server, call, uid)) == 0)
        return CLUSTER_ASK_UNREACHED;
    asked = g_new0(AskedCall, 1);
    asked->server = server;
    asked->serial = serial;
    asked->caller_uid = caller_uid;
    asked->unique_name = g_strdup(client->unique_name);
    asked->call = lock_call_copy(call, &server->user_agent.limits);
    asked->n_ended = n_ended;
    asked->timeout_id = g_timeout_add(
        call->kind == LOCK_CALL_BREAK ? BREAK_PATIENCE_MS : LIST_PATIENCE_MS, on_timeout, asked);
    g_ptr_array_add(server->cluster_calls, asked);
    return CLUSTER_ASK_SENT;
}

ClusterAsk
cluster_calls_ask(Client *client, const LockCall *call, guint32 uid, guint32 n_ended)
{
    if (!lock_call_is_clustered(call) || !concerns_others(call))
        return CLUSTER_ASK_NONE;
    return ask(client, call, client->agent->principal->identity.uid, uid, n_ended);
}

/* Clients that are not identified yet have a share of their own. */
void
cluster_calls_get(Client *client, const LockCall *call)
{
    const guint32 uid =
        client->agent != NULL ? client->agent->principal->identity.uid : PRINCIPAL_NO_UID;

    if (client->server->cluster == NULL || ask(client, call, uid, 0, 0) != CLUSTER_ASK_SENT)
        objects_reply(client, call, NULL);
}

/* An answer that does not belong to a call is of an earlier connection. */
static void
on_answered(const ClusterMessage *answer, gpointer data)
{
    GPtrArray *all = ((const Server *)data)->cluster_calls;
    guint i = 0;

    while (i < all->len) {
        AskedCall *asked = all->pdata[i];

        if (asked->serial == answer->serial && get_answer(asked->call) == answer->kind) {
            reply(asked, answer);
            g_ptr_array_remove_index(all, i);
        } else {
            i++;
        }
    }
}

void
cluster_calls_finish_all(Server *server)
{
    GPtrArray *all;

    if (server->cluster == NULL)
        return;
    all = server->cluster_calls;
    while (all->len > 0) {
        AskedCall *asked = all->pdata[0];

        reply(asked, NULL);
        g_ptr_array_remove(all, asked);
    }
}

static void
on_disconnected(gpointer data)
{
    cluster_calls_finish_all(data);
}

void
cluster_calls_end_undecided(const Client *client)
{
    GList *next;

    if (client->server->cluster == NULL || client->channel != client->default_channel)
        return;
    for (GList *link = client->agent->requests.head; link != NULL; link = next) {
        LockRequest *request = link->data;

        next = link->next;
        if (request->undecided != UNDECIDED_NONE)
            lock_manager_end_and_process(request->queue->manager, request, EFFECT_UNAVAILABLE);
    }
}

/* ---- */

static void
tick(gpointer data)
{
    clock_tick(data);
}

/* While the sockets of clients are waited for, so is the gateway. */
static void
on_connected(int fd, gpointer data)
{
    packet_sockets_add_other_fd(((Server *)data)->sockets, fd);
}

static const ClusterFunctions functions = {
    .tick = tick,
    .answered = on_answered,
    .connected = on_connected,
    .disconnected = on_disconnected,
};

void
cluster_calls_init(Server *server, ClusterConfig *config, const char *socket_path)
{
    server->cluster_calls = g_ptr_array_new_with_free_func(asked_call_free);
    server->cluster_config = config;
    server->cluster = cluster_new(server, config, socket_path, &functions, server);
}

void
cluster_calls_fini(Server *server)
{
    if (server->cluster == NULL)
        return;
    g_clear_pointer(&server->cluster_calls, g_ptr_array_unref);
    g_clear_pointer(&server->cluster, cluster_free);
}
