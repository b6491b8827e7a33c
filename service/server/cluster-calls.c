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
#include "operations.h"
#include "packet-socket.h"
#include "principal.h"

/* How long a reply with a list waits, and one to Break: as long as that to a steal; how many do so
 * at a time, in total and of one user, and how many bytes of rows are kept for all of them; further
 * rows are left out. */
#define LIST_PATIENCE_MS  2000
#define BREAK_PATIENCE_MS 5000
#define CALLS_MAX         256
#define CALLS_OF_A_UID    64
#define ROW_BYTES_MAX     (16UL * 1024 * 1024)

G_STATIC_ASSERT(CLUSTER_HOST_BYTES_MAX == BUS_HOST_BYTES_MAX);

/* A call that waits for the gateway. */
typedef struct {
    Server *server;
    guint64 serial; /* of LIST or BREAK; 0: LIST has not been sent */
    guint32 uid;    /* whose bucket it is about */
    guint32 caller_uid;
    char *unique_name;
    LockCall *call;
    GPtrArray *rows; /* see cluster_row_read() */
    gsize n_bytes;   /* of `rows` */
    guint32 n_ended; /* by Break, on this host */
    guint timeout_id;
} AskedCall;

/* A list costs the engine some reads for each name, so there is one LIST at a time. Calls that come
 * meanwhile wait for the next one; those about the same bucket share it. The gateway limits how
 * often it reads (cluster/gateway/list-cache.h). */
struct ClusterCalls {
    GPtrArray *asked;    /* of AskedCall, owned, in the order of the calls */
    guint64 list_serial; /* of the LIST that has not been replied to; 0: none, and no call waits */
    gsize n_bytes;       /* of the rows of all calls */
};

/* ---- who may use a bucket */

static gboolean
has_queue(const Principal *principal, const LockCall *call)
{
    const LockManager *manager = lock_manager_find(principal, call->bucket);

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
check_name(const Client *client, const LockCall *call)
{
    const Principal *principal = client->agent->principal;
    LockResult result;
    LimitId limit;

    if (call->name == NULL)
        return LOCK_RESULT_OK;
    if ((result = check_name_length(call)) != LOCK_RESULT_OK)
        return result;
    if (!has_queue(principal, call) && !limits_admit(&client->server->user_agent.limits,
                                                     &principal->account, CHARGE_DEMAND, 1, &limit))
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

LockResult
cluster_calls_check(const Client *client, const LockCall *call)
{
    const Server *server = client->server;
    const ClusterBucketConfig *bucket = NULL;
    const PrincipalIdentity *caller;

    if (!lock_call_is_clustered(call))
        return LOCK_RESULT_OK;
    caller = &client->agent->principal->identity;
    /* An application does not see which buckets there are. */
    if (server->cluster != NULL && caller->kind != PRINCIPAL_UNSANDBOXED)
        return LOCK_RESULT_NO_ACCESS;
    if (server->cluster != NULL && call->owner.identity.kind == PRINCIPAL_UNSANDBOXED)
        bucket = cluster_find_bucket(server->cluster, call->bucket);
    if (bucket == NULL)
        return LOCK_RESULT_NO_CLUSTER;
    /* The path of another user's bucket is for uid 0, which may always look. */
    if (!call->owner.is_other &&
        !cluster_bucket_config_admits(bucket, caller->uid, client->gids, client->n_gids))
        return LOCK_RESULT_NO_ACCESS;
    if (call->kind == LOCK_CALL_REQUEST)
        return check_name(client, call);
    return call->kind == LOCK_CALL_BREAK ? check_break(call) : LOCK_RESULT_OK;
}

/* ---- calls that wait for other hosts */

static void
asked_call_free(gpointer data)
{
    AskedCall *asked = data;

    g_clear_handle_id(&asked->timeout_id, g_source_remove);
    lock_call_free(asked->call);
    g_ptr_array_unref(asked->rows);
    g_free(asked->unique_name);
    g_free(asked);
}

/* Replies, unless the client has disconnected. Frees the call. `result` and `n_remote` are of
 * Break. */
static void
finish(AskedCall *asked, LockResult result, guint32 n_remote)
{
    Server *server = asked->server;
    ClusterCalls *calls = server->cluster_calls;
    Client *client = server_find_client(server, asked->unique_name);
    const LockReply reply = {.result = result, .n_ended = asked->n_ended + n_remote};

    if (client != NULL && asked->call->kind == LOCK_CALL_BREAK)
        notify_reply(client, &bus_channel, asked->call, &reply);
    else if (client != NULL)
        lists_send(client, asked->call, asked->rows);
    calls->n_bytes -= asked->n_bytes;
    g_ptr_array_remove(calls->asked, asked);
}

/* At the end of the lease clock_tick() disconnects the gateway, which finishes all calls. */
static gboolean
on_timeout(gpointer data)
{
    AskedCall *asked = data;
    Server *server = asked->server;

    asked->timeout_id = 0;
    clock_tick(server);
    if (g_ptr_array_find(server->cluster_calls->asked, asked, NULL))
        finish(asked, LOCK_RESULT_UNREACHED, 0);
    return G_SOURCE_REMOVE;
}

/* The host that the call is about. Returns FALSE if it is about this host alone. `*out_host` is
 * NULL for all other hosts. */
static gboolean
get_host(const LockCall *call, const char **out_host)
{
    const InspectFilter *filter = &call->filter;

    *out_host = NULL;
    if (call->kind == LOCK_CALL_QUERY)
        return TRUE;
    if (filter->by_id || filter->after == G_MAXUINT64)
        return FALSE;
    *out_host = get_filter_host(filter);
    return filter->client_id == NULL || *out_host != NULL;
}

/* Sends LIST for the first call that waits, and all that can share it. */
static void
send_next_list(Server *server)
{
    ClusterCalls *calls = server->cluster_calls;
    const AskedCall *first = NULL;

    calls->list_serial = 0;
    for (guint i = 0; i < calls->asked->len; i++) {
        AskedCall *asked = calls->asked->pdata[i];

        if (asked->serial != 0)
            continue;
        if (first == NULL) {
            first = asked;
            calls->list_serial = cluster_list(server->cluster, asked->uid, asked->call->bucket);
        }
        if (asked->uid == first->uid && g_str_equal(asked->call->bucket, first->call->bucket))
            asked->serial = calls->list_serial;
    }
}

/* Returns whether the call waits for a reply of the gateway. `*out_serial` is 0 if the gateway has
 * yet to be asked. */
static gboolean
ask_gateway(
    Server *server, const LockCall *call, guint32 uid, const char *host, guint64 *out_serial)
{
    ClusterCalls *calls = server->cluster_calls;

    *out_serial = 0;
    if (call->kind == LOCK_CALL_BREAK) {
        *out_serial = cluster_break(server->cluster, uid, call->bucket, call->name, host);
        return *out_serial != 0;
    }
    if (calls->list_serial == 0)
        *out_serial = calls->list_serial = cluster_list(server->cluster, uid, call->bucket);
    return calls->list_serial != 0;
}

static gboolean
can_ask(const ClusterCalls *calls, guint32 caller_uid)
{
    guint n = 0;

    for (guint i = 0; i < calls->asked->len; i++)
        n += ((const AskedCall *)calls->asked->pdata[i])->caller_uid == caller_uid ? 1 : 0;
    return n < CALLS_OF_A_UID && calls->asked->len < CALLS_MAX;
}

ClusterAsk
cluster_calls_ask(Client *client, const LockCall *call, guint32 uid, guint32 n_ended)
{
    Server *server = client->server;
    const guint32 caller_uid = client->agent->principal->identity.uid;
    const char *host;
    AskedCall *asked;
    guint64 serial;

    if (!lock_call_is_clustered(call) || !get_host(call, &host))
        return CLUSTER_ASK_NONE;
    if (server->stage != SERVER_RUNNING || !can_ask(server->cluster_calls, caller_uid) ||
        !ask_gateway(server, call, uid, host, &serial))
        return CLUSTER_ASK_UNREACHED;
    asked = g_new0(AskedCall, 1);
    asked->server = server;
    asked->serial = serial;
    asked->uid = uid;
    asked->caller_uid = caller_uid;
    asked->unique_name = g_strdup(client->unique_name);
    asked->call = lock_call_copy(call, &server->user_agent.limits);
    asked->rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_variant_unref);
    asked->n_ended = n_ended;
    asked->timeout_id = g_timeout_add(
        call->kind == LOCK_CALL_BREAK ? BREAK_PATIENCE_MS : LIST_PATIENCE_MS, on_timeout, asked);
    g_ptr_array_add(server->cluster_calls->asked, asked);
    return CLUSTER_ASK_SENT;
}

static gboolean
row_matches(const LockCall *call, const ClusterRow *row)
{
    const InspectFilter *filter = &call->filter;
    const char *host;

    if (call->kind == LOCK_CALL_QUERY)
        return TRUE;
    if (filter->by_state &&
        (filter->state == LOCK_REQUEST_HELD) != (row->state == CLUSTER_ROW_HOLDS))
        return FALSE;
    if (get_host(call, &host) && host != NULL && !g_str_equal(row->host, host))
        return FALSE;
    if (filter->name != NULL && !g_str_equal(row->name, filter->name))
        return FALSE;
    return filter->prefix == NULL || g_str_has_prefix(row->name, filter->prefix);
}

static void
add_rows(AskedCall *asked, const ClusterRows *rows)
{
    gsize *n_bytes = &asked->server->cluster_calls->n_bytes;

    for (gsize i = 0; i < g_variant_n_children(rows->rows); i++) {
        g_autoptr(GVariant) child = g_variant_get_child_value(rows->rows, i);
        const ClusterRow row = cluster_row_read(child);
        const gsize size = cluster_row_get_memory(child);

        if (!row_matches(asked->call, &row) || *n_bytes + size > ROW_BYTES_MAX)
            continue;
        asked->n_bytes += size;
        *n_bytes += size;
        /* The child would keep the whole packet. */
        g_ptr_array_add(asked->rows, cluster_row_new(&row));
    }
}

static void
on_listed(const ClusterRows *rows, gpointer data)
{
    Server *server = data;
    const ClusterCalls *calls = server->cluster_calls;
    guint i = 0;

    if (rows->serial == 0)
        return;
    while (i < calls->asked->len) {
        AskedCall *asked = calls->asked->pdata[i];
        gboolean is_for = asked->serial == rows->serial && asked->call->kind != LOCK_CALL_BREAK;

        if (is_for)
            add_rows(asked, rows);
        if (is_for && !rows->more)
            finish(asked, LOCK_RESULT_OK, 0);
        else
            i++;
    }
    if (rows->serial == calls->list_serial && !rows->more)
        send_next_list(server);
}

static void
on_broken(const ClusterBroken *broken, gpointer data)
{
    const GPtrArray *all = ((Server *)data)->cluster_calls->asked;

    for (guint i = 0; i < all->len; i++) {
        AskedCall *asked = all->pdata[i];

        if (asked->serial == broken->serial && asked->call->kind == LOCK_CALL_BREAK) {
            finish(asked, broken->failed ? LOCK_RESULT_UNREACHED : LOCK_RESULT_OK, broken->count);
            return;
        }
    }
}

void
cluster_calls_finish_all(Server *server)
{
    if (server->cluster == NULL)
        return;
    while (server->cluster_calls->asked->len > 0)
        finish(server->cluster_calls->asked->pdata[0], LOCK_RESULT_UNREACHED, 0);
}

static void
on_disconnected(gpointer data)
{
    Server *server = data;

    server->cluster_calls->list_serial = 0;
    cluster_calls_finish_all(server);
}

void
cluster_calls_end_undecided(const Client *client)
{
    GList *next;

    if (client->channel != client->default_channel)
        return;
    for (GList *link = client->agent->requests.head; link != NULL; link = next) {
        LockRequest *request = link->data;

        next = link->next;
        if (request->undecided != UNDECIDED_NONE) {
            LockQueue *queue = lock_queue_ref(request->queue);

            lock_manager_end_request(queue->manager, request, EFFECT_UNAVAILABLE);
            lock_queue_process(queue);
            lock_queue_unref(queue);
        }
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
    .listed = on_listed,
    .broken = on_broken,
    .connected = on_connected,
    .disconnected = on_disconnected,
};

void
cluster_calls_get_info(const Server *server, ClusterInfo *out_info)
{
    Cluster *cluster = server->cluster;

    if (cluster != NULL)
        cluster_get_info(cluster, out_info);
    else
        *out_info = (ClusterInfo){.state = CLUSTER_STATE_OFF, .engine = "", .hosts = ""};
}

void
cluster_calls_init(Server *server, ClusterConfig *config, const char *socket_path)
{
    server->cluster_calls = g_new0(ClusterCalls, 1);
    server->cluster_calls->asked = g_ptr_array_new_with_free_func(asked_call_free);
    server->cluster = cluster_new(server, config, socket_path, &functions, server);
}

void
cluster_calls_fini(Server *server)
{
    if (server->cluster == NULL)
        return;
    g_ptr_array_unref(server->cluster_calls->asked);
    g_clear_pointer(&server->cluster_calls, g_free);
    g_clear_pointer(&server->cluster, cluster_free);
}
