/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cluster.h"

#include <errno.h>
#include <string.h>

#include "boot-time.h"
#include "bus-names.h"
#include "cluster-connection.h"
#include "clustered-queues.h"
#include "lease-timer.h"
#include "lock-manager.h"
#include "permit.h"
#include "principal.h"
#include "turn.h"
#include "user-agent.h"

/* So many bytes of demands are written at a time, and the next ones when these have been sent: all
 * that there can be would be more than the output takes. */
#define DEMANDS_BYTES_MAX (256u * 1024)

/* Between attempts to connect, growing. */
#define DELAY_MIN_MS 50
#define DELAY_MAX_MS 1000

struct Cluster {
    Server *server; /* borrowed */
    ClusterConfig *config;
    const ClusterFunctions *functions;
    gpointer data;
    char *path;                    /* of the gateway's socket */
    ClusterConnection *connection; /* NULL: not connected */
    TurnOutput output;             /* what was appended is sent at the end of the turn */
    guint retry_id;
    guint delay_ms; /* before the next attempt to connect */
    ClusteredQueues queues;
    LeaseTimer lease;
    gboolean has_sent_ready; /* by this connection */
    gboolean is_synced;      /* the gateway has confirmed what is valid */
    gint64 next_deadline_us; /* of the lease from then on; 0: none yet */
    guint64 session;         /* of that lease, or of the lease */
    guint64 last_serial;     /* of ASK */
    ClusterState state;
    ClusterReason reason;
};

static void disconnect(Cluster *self);

static const char *
get_name(const char *bucket)
{
    return bucket + strlen(BUS_CLUSTER_PREFIX);
}

/* ---- losing locks */

typedef enum {
    LOSE_ALL,
    LOSE_UNCONFIRMED,
    LOSE_OTHER_SESSIONS, /* what is not confirmed, unless its claim is of this session */
} LossKind;

typedef struct {
    LossKind kind;
    guint64 session;
    gboolean has_lost;
} Loss;

static gboolean
is_kept(const ClusteredQueue *clustered, const Loss *loss)
{
    if (loss->kind == LOSE_ALL)
        return FALSE;
    return clustered->is_confirmed || (loss->kind == LOSE_OTHER_SESSIONS && clustered->block != 0 &&
                                       clustered->session == loss->session);
}

static void
lose(ClusteredQueue *clustered, gpointer data)
{
    const Demand now = permit_get_demand(clustered->queue);
    Loss *loss = data;

    if (is_kept(clustered, loss))
        return;
    if (!clustered->is_confirmed)
        clustered->block = 0; /* it won't be */
    if (now.permit == PERMIT_NONE && now.held == PERMIT_NONE)
        return;
    permit_revoke(clustered->queue, EFFECT_LOST);
    loss->has_lost = TRUE;
}

/* Returns whether there was anything to lose. */
static gboolean
lose_all(Cluster *self, LossKind kind)
{
    Loss loss = {.kind = kind, .session = self->session};

    clustered_queues_foreach(&self->queues, lose, &loss);
    return loss.has_lost;
}

void
cluster_set_asleep(Cluster *self, gboolean is_asleep)
{
    if (is_asleep)
        lose_all(self, LOSE_ALL);
    clustered_queues_set_asleep(&self->queues, is_asleep);
}

void
cluster_check_lease(Cluster *self)
{
    if (!lease_timer_is_over(&self->lease))
        return;
    if (!self->is_synced && self->next_deadline_us > boot_time_get_us()) {
        /* The gateway has a later lease. It may take long until it has confirmed many permits; the
         * claims of its session can only have ended by a steal, or by the end of the session. */
        lease_timer_set(&self->lease, self->next_deadline_us);
        lose_all(self, LOSE_OTHER_SESSIONS);
        return;
    }
    lease_timer_set(&self->lease, 0);
    if (lose_all(self, LOSE_ALL)) {
        g_message("the lease of the cluster is over: locks are lost");
        /* By the next connection, both sides know that nothing is valid. */
        disconnect(self);
    }
}

static void
set_deadline(Cluster *self, gint64 deadline_us)
{
    if (self->is_synced || self->lease.deadline_us == 0) {
        lease_timer_set(&self->lease, deadline_us);
        self->next_deadline_us = 0;
    } else {
        self->next_deadline_us = deadline_us;
    }
}

/* Returns what is sent to the gateway at the end of the turn, to append to; NULL if it is not
 * connected. */
static GByteArray *
get_output(Cluster *self)
{
    if (self->connection == NULL)
        return NULL;
    turn_add_output(&self->output, 0);
    return cluster_connection_get_output(self->connection);
}

/* ---- messages of the gateway */

static void
receive_lease(Cluster *self, const ClusterLease *message)
{
    cluster_packet_write(get_output(self), CLUSTER_PACKET_ACK, message->serial);
    self->state = message->state;
    self->reason = message->reason;
    if (message->state == CLUSTER_STATE_LOST) {
        lease_timer_set(&self->lease, 0);
        self->next_deadline_us = 0;
        lose_all(self, LOSE_ALL);
    } else if (message->deadline_us != 0) {
        self->session = message->session;
        set_deadline(self, message->deadline_us);
    }
}

static void
receive_permit(Cluster *self, ClusteredQueue *clustered, const ClusterTurn *message)
{
    LockQueue *queue = clustered->queue;
    guint64 last_token = ((message->block + 1) << CLUSTER_BLOCK_BITS) - 1;

    /* Since a restart: a token of the permit may have been issued for a lock that is over. */
    if (clustered->block == 0 && queue->held.length > 0)
        permit_retire_token(queue, last_token);
    clustered_queue_confirm(clustered, message, self->session);
    if (self->lease.deadline_us == 0 || self->session == 0 || self->queues.is_asleep) {
        /* It is not valid, or not wanted: it is returned at the end of the turn. */
        permit_revoke(queue, EFFECT_LOST);
        return;
    }
    permit_set(queue, message->mode, message->block << CLUSTER_BLOCK_BITS, last_token);
}

static void
receive_revoked(ClusteredQueue *clustered, const ClusterTurn *message)
{
    clustered->block = 0;
    clustered->must_send = TRUE;
    permit_revoke(clustered->queue,
                  message->reason == CLUSTER_REVOKED_STOLEN ? EFFECT_STOLEN : EFFECT_LOST);
}

static void
receive_synced(Cluster *self)
{
    lose_all(self, LOSE_UNCONFIRMED);
    self->delay_ms = DELAY_MIN_MS; /* this gateway works */
    self->is_synced = TRUE;
    if (self->next_deadline_us != 0)
        lease_timer_set(&self->lease, self->next_deadline_us);
    self->next_deadline_us = 0;
}

static void
receive_for_queue(Cluster *self, guint32 kind, const ClusterTurn *turn)
{
    ClusteredQueue *clustered = g_hash_table_lookup(self->queues.by_handle, &turn->handle);

    if (clustered == NULL) {
        /* An unneeded permit can't be returned otherwise. */
        if (kind == CLUSTER_PACKET_PERMIT)
            disconnect(self);
        return;
    }
    switch (kind) {
    case CLUSTER_PACKET_PERMIT:
        receive_permit(self, clustered, turn);
        break;
    case CLUSTER_PACKET_YIELD:
        permit_yield(clustered->queue, turn->now);
        break;
    case CLUSTER_PACKET_REVOKED:
        receive_revoked(clustered, turn);
        break;
    case CLUSTER_PACKET_BUSY:
        permit_decline(clustered->queue);
        break;
    case CLUSTER_PACKET_GONE:
        clustered_queues_receive_gone(&self->queues, clustered, turn->number);
        break;
    default:
        g_assert_not_reached();
    }
}

static void
on_received(const ClusterMessage *message, gpointer data)
{
    Cluster *self = data;

    self->functions->tick(self->data);
    if (self->connection == NULL) /* it was disconnected by that */
        return;
    switch (message->kind) {
    case CLUSTER_PACKET_LEASE:
        receive_lease(self, &message->lease);
        break;
    case CLUSTER_PACKET_SYNCED:
        receive_synced(self);
        break;
    case CLUSTER_PACKET_ROWS:
    case CLUSTER_PACKET_STATUS:
    case CLUSTER_PACKET_BROKEN:
        self->functions->answered(message, self->data);
        break;
    default:
        receive_for_queue(self, message->kind, &message->turn);
    }
}

/* ---- the connection
 *
 * To weblocks-clusterd, the gateway of this host. It is established when it is first needed and, as
 * long as there are demands, again after it has ended. */

static void connect_gateway(Cluster *self);

/* Updates the demand of each queue that has changed; of those for which there is no room in the
 * output at the end of a later turn. The first ones of a connection are followed by READY. */
static void
take_changed(Cluster *self, GByteArray *out)
{
    LockQueue *queue;

    while ((out == NULL || out->len < DEMANDS_BYTES_MAX) &&
           (queue = permit_take_changed(&self->server->user_agent)) != NULL) {
        clustered_queues_update(&self->queues, clustered_queues_get(&self->queues, queue), out);
        lock_queue_unref(queue);
    }
    if (out == NULL)
        return;
    if (self->server->user_agent.demands->len > 0) {
        cluster_connection_await_writable(self->connection);
    } else if (!self->has_sent_ready) {
        cluster_packet_write(out, CLUSTER_PACKET_READY);
        self->has_sent_ready = TRUE;
    }
}

static gboolean
on_retry(gpointer data)
{
    Cluster *self = data;

    self->retry_id = 0;
    self->functions->tick(self->data);
    connect_gateway(self);
    return G_SOURCE_REMOVE;
}

static void
connect_later(Cluster *self)
{
    if (self->retry_id != 0 || g_hash_table_size(self->queues.by_handle) == 0)
        return;
    self->retry_id = g_timeout_add(self->delay_ms, on_retry, self);
    self->delay_ms = MIN(2 * self->delay_ms, DELAY_MAX_MS);
}

static void
disconnect(Cluster *self)
{
    if (self->connection == NULL)
        return;
    turn_remove_output(&self->output);
    g_clear_pointer(&self->connection, cluster_connection_free);
    self->is_synced = FALSE;
    self->state = CLUSTER_STATE_OFF;
    self->reason = CLUSTER_REASON_NONE;
    self->functions->disconnected(self->data);
    connect_later(self);
}

static void
on_closed(const char *reason, gpointer data)
{
    Cluster *self = data;

    g_message("the gateway to the cluster is disconnected: %s", reason);
    self->functions->tick(self->data);
    disconnect(self);
}

static const ClusterConnectionHandler handler = {
    .read_packet = cluster_packet_read_from_gateway,
    .received = on_received,
    .closed = on_closed,
};

/* Connects, unless it is connected or will be soon. */
static void
connect_gateway(Cluster *self)
{
    GByteArray *out;
    int fd;

    if (self->connection != NULL || self->retry_id != 0)
        return;
    fd = cluster_connection_open(self->path);
    if (fd < 0) {
        g_debug("%s: no gateway to the cluster: %s", self->path, g_strerror(errno));
        connect_later(self);
        return;
    }
    self->connection = cluster_connection_new(fd, &handler, self);
    out = get_output(self);
    cluster_packet_write(out, CLUSTER_PACKET_HELLO, CLUSTER_PACKET_VERSION);
    self->functions->connected(fd, self->data);
    self->has_sent_ready = FALSE;
    self->next_deadline_us = 0;
    self->session = 0;
    clustered_queues_reset(&self->queues); /* which lists all of them */
    take_changed(self, out);
}

static void
flush(TurnOutput *output)
{
    Cluster *self = (Cluster *)((char *)output - G_STRUCT_OFFSET(Cluster, output));

    cluster_connection_flush(self->connection);
}

/* ---- turns */

static void
on_lease(gpointer data)
{
    const Cluster *self = data;

    self->functions->tick(self->data);
}

static void
on_linger(gpointer data)
{
    Cluster *self = data;

    self->functions->tick(self->data);
    clustered_queues_end_lingering(&self->queues);
}

void
cluster_write_demands(Cluster *self)
{
    if (self->server->user_agent.demands->len == 0)
        return;
    take_changed(self, get_output(self));
    if (g_hash_table_size(self->queues.by_handle) > 0)
        connect_gateway(self);
}

/* ---- beginning and end */

Cluster *
cluster_new(Server *server,
            ClusterConfig *config,
            const char *socket_path,
            const ClusterFunctions *functions,
            gpointer data)
{
    Cluster *self = g_new0(Cluster, 1);

    self->server = server;
    self->config = config;
    self->functions = functions;
    self->data = data;
    self->path = g_strdup(socket_path);
    self->output = (TurnOutput){.turn = &server->turn, .flush = flush};
    self->delay_ms = DELAY_MIN_MS;
    /* The gateway may still have questions of an earlier process. */
    self->last_serial = (guint64)g_random_int() << 32;
    for (guint i = 0; i < config->buckets->len; i++) {
        const ClusterBucketConfig *bucket = config->buckets->pdata[i];

        if (bucket->is_shared)
            g_hash_table_add(server->user_agent.shared_buckets,
                             g_strconcat(BUS_CLUSTER_PREFIX, bucket->name, NULL));
    }
    clustered_queues_init(&self->queues, on_linger, self);
    lease_timer_init(&self->lease, on_lease, self); /* which calls cluster_check_lease() */
    return self;
}

void
cluster_free(Cluster *self)
{
    if (self == NULL)
        return;
    g_clear_handle_id(&self->retry_id, g_source_remove);
    turn_remove_output(&self->output);
    g_clear_pointer(&self->connection, cluster_connection_free);
    clustered_queues_fini(&self->queues);
    lease_timer_fini(&self->lease);
    cluster_config_free(self->config);
    g_free(self->path);
    g_free(self);
}

static void
lose_requests(LockManager *manager)
{
    LockRequest *request;

    lock_manager_ref(manager);
    while ((request = g_queue_peek_head(&manager->requests)) != NULL)
        lock_manager_end_request(manager, request, EFFECT_LOST);
    lock_manager_unref(manager);
}

/* Whether the bucket is configured, and belongs to that owner: Shared= may have changed. */
static gboolean
is_configured(const Cluster *self, const LockManager *manager)
{
    const ClusterBucketConfig *bucket =
        self != NULL ? cluster_find_bucket(self, manager->bucket) : NULL;

    return bucket != NULL &&
           bucket->is_shared == principal_has_members(&manager->principal->identity);
}

void
cluster_lose_unconfigured(const Cluster *self, UserAgent *user_agent)
{
    g_autoptr(GPtrArray) managers = g_ptr_array_new();
    GHashTableIter principals, iter;
    const Principal *principal;
    LockManager *manager;
    LockQueue *queue;

    g_hash_table_iter_init(&principals, user_agent->principals);
    while (g_hash_table_iter_next(&principals, NULL, (gpointer *)&principal)) {
        g_hash_table_iter_init(&iter, principal->managers);
        while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&manager))
            if (manager->clustered && !is_configured(self, manager))
                g_ptr_array_add(managers, manager);
    }
    for (guint i = 0; i < managers->len; i++)
        lose_requests(managers->pdata[i]);
    while (self == NULL && (queue = permit_take_changed(user_agent)) != NULL)
        lock_queue_unref(queue);
}

void
cluster_begin(Cluster *self, gint64 deadline_us)
{
    take_changed(self, NULL);
    /* During a lease, the gateway may have claims that nothing needs any more: it deletes them when
     * this service is connected. */
    if (g_hash_table_size(self->queues.by_handle) == 0 && deadline_us <= boot_time_get_us())
        return;
    /* Without a stored deadline, it is over immediately. */
    lease_timer_set(&self->lease, MAX(deadline_us, 1));
    cluster_check_lease(self);
    connect_gateway(self);
}

/* ---- queries */

const ClusterBucketConfig *
cluster_find_bucket(const Cluster *self, const char *bucket)
{
    return cluster_config_find(self->config, get_name(bucket));
}

gint64
cluster_get_deadline_us(const Cluster *self)
{
    return self->lease.deadline_us;
}

ClusterInfo
cluster_get_info(const Cluster *self)
{
    gint64 left_us = self != NULL ? self->lease.deadline_us - boot_time_get_us() : 0;

    if (self == NULL)
        return (ClusterInfo){.state = CLUSTER_STATE_OFF};
    return (ClusterInfo){self->state, self->reason, MAX(left_us, 0)};
}

guint64
cluster_ask(Cluster *self,
            ClusterPacketKind answer,
            guint32 uid,
            const char *bucket,
            const char *name,
            const char *host)
{
    GByteArray *out;

    connect_gateway(self);
    out = get_output(self);
    if (out == NULL)
        return 0;
    cluster_packet_write(out, CLUSTER_PACKET_ASK, ++self->last_serial, answer, uid,
                         bucket != NULL ? get_name(bucket) : "", name != NULL ? name : "",
                         host != NULL ? host : "");
    return self->last_serial;
}
