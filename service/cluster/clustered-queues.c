/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "clustered-queues.h"

#include <string.h>

#include "bus-names.h"
#include "lock-manager.h"
#include "principal.h"
#include "user-agent.h"

#define LINGER_MS 1000

G_STATIC_ASSERT(PRINCIPAL_NO_UID == CLUSTER_NO_UID);

static Principal *
find_requester(const LockQueue *queue)
{
    const GQueue *const queues[] = {&queue->held, &queue->pending, &queue->permit->steals};

    for (guint i = 0; i < G_N_ELEMENTS(queues); i++)
        if (queues[i]->head != NULL)
            return ((const LockRequest *)queues[i]->head->data)->agent->principal;
    return queue->manager->principal; /* it is empty already */
}

static void
clustered_queue_free(gpointer data)
{
    ClusteredQueue *clustered = data;

    limits_discharge(&clustered->charged->account, CHARGE_DEMAND, 1);
    principal_unref(clustered->charged);
    clustered->queue->permit->clustered = NULL;
    lock_queue_unref(clustered->queue);
    g_free(clustered);
}

void
clustered_queues_init(ClusteredQueues *self, void (*on_linger)(gpointer data), gpointer data)
{
    *self = (ClusteredQueues){
        .by_handle = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, clustered_queue_free),
        .on_linger = on_linger,
        .data = data,
    };
    g_queue_init(&self->lingering);
}

void
clustered_queues_fini(ClusteredQueues *self)
{
    g_clear_handle_id(&self->linger_id, g_source_remove);
    g_hash_table_unref(self->by_handle);
}

ClusteredQueue *
clustered_queues_get(ClusteredQueues *self, LockQueue *queue)
{
    ClusteredQueue *clustered = queue->permit->clustered;

    if (clustered != NULL)
        return clustered;
    clustered = g_new0(ClusteredQueue, 1);
    clustered->handle = ++self->last_handle;
    clustered->queue = lock_queue_ref(queue);
    clustered->charged = principal_ref(find_requester(queue));
    limits_charge(&clustered->charged->account, CHARGE_DEMAND, 1);
    queue->permit->clustered = clustered;
    g_hash_table_insert(self->by_handle, &clustered->handle, clustered);
    return clustered;
}

void
clustered_queues_foreach(ClusteredQueues *self,
                         void (*visit)(ClusteredQueue *clustered, gpointer data),
                         gpointer data)
{
    g_autoptr(GList) queues = g_hash_table_get_values(self->by_handle);

    for (const GList *link = queues; link != NULL; link = link->next)
        visit(link->data, data);
}

static void
stop_lingering(ClusteredQueues *self, ClusteredQueue *clustered)
{
    if (clustered->in_lingering.data == NULL)
        return;
    clustered->in_lingering.data = NULL;
    g_queue_unlink(&self->lingering, &clustered->in_lingering);
}

static void
remove_clustered(ClusteredQueues *self, ClusteredQueue *clustered)
{
    stop_lingering(self, clustered);
    g_hash_table_remove(self->by_handle, &clustered->handle);
}

/* ---- lingering */

static gboolean
is_empty(const Demand *now)
{
    return now->want == PERMIT_NONE && now->held == PERMIT_NONE;
}

static gboolean
on_linger(gpointer data)
{
    ClusteredQueues *self = data;

    self->linger_id = 0;
    self->on_linger(self->data);
    return G_SOURCE_REMOVE;
}

static void
arm_timer(ClusteredQueues *self)
{
    if (self->linger_id == 0 && self->lingering.length > 0)
        self->linger_id = g_timeout_add(LINGER_MS, on_linger, self);
}

static void
linger(ClusteredQueues *self, ClusteredQueue *clustered)
{
    clustered->empty_since_us = clustered->queue->manager->principal->user_agent->now_us;
    if (clustered->in_lingering.data == NULL) {
        clustered->in_lingering.data = clustered;
        g_queue_push_tail_link(&self->lingering, &clustered->in_lingering);
    }
    arm_timer(self);
}

void
clustered_queues_end_lingering(ClusteredQueues *self)
{
    for (guint n_left = self->lingering.length; n_left > 0; n_left--) {
        ClusteredQueue *clustered = g_queue_peek_head(&self->lingering);
        const Demand now = permit_get_demand(clustered->queue);
        const gint64 now_us = clustered->queue->manager->principal->user_agent->now_us;

        stop_lingering(self, clustered);
        if (now.permit == PERMIT_NONE || !is_empty(&now))
            continue;
        if (now_us - clustered->empty_since_us >= LINGER_MS * (gint64)1000) {
            permit_yield(clustered->queue, TRUE);
        } else {
            clustered->in_lingering.data = clustered;
            g_queue_push_tail_link(&self->lingering, &clustered->in_lingering);
        }
    }
    arm_timer(self);
}

/* ---- demands for the gateway */

/* An empty queue keeps its permit until the end of the turn is requested. */
static gboolean
is_turn_over(const LockQueue *queue, const Demand *now)
{
    return now->turn_over && (now->n_waiting > 0 || queue->permit->boundary != G_MAXUINT64);
}

/* Whether the gateway has to act on the demand: under a permit, only on what the permit does not
 * decide. */
static gboolean
has_changed(const ClusteredQueue *clustered, const Demand *now)
{
    const Demand *sent = &clustered->sent;

    if (clustered->number == 0 || clustered->must_send || sent->undecided != now->undecided)
        return TRUE;
    if (now->needs_tokens && !sent->needs_tokens)
        return TRUE;
    return now->permit == PERMIT_NONE && (sent->want != now->want || sent->held != now->held);
}

static void
send_demand(ClusteredQueue *clustered, const Demand *now, guint64 returned, GByteArray *out)
{
    const LockManager *manager = clustered->queue->manager;
    const LockRequest *holder = g_queue_peek_head(&clustered->queue->held);
    const gboolean is_earlier = clustered->block != 0 && !clustered->is_confirmed;
    guint64 block = returned != 0 ? returned : clustered->block;

    /* After a restart, the token is what is known of the permit. */
    if (block == 0 && holder != NULL)
        block = holder->token >> CLUSTER_BLOCK_BITS;
    clustered->sent = *now;
    clustered->must_send = FALSE;
    cluster_packet_write(
        out, CLUSTER_PACKET_DEMAND, clustered->handle, block, is_earlier ? clustered->session : 0,
        is_earlier ? clustered->claim : 0, manager->principal->identity.uid, ++clustered->number,
        now->want, now->held, now->undecided, now->needs_tokens, returned != 0, now->n_waiting,
        manager->bucket + strlen(BUS_CLUSTER_PREFIX), clustered->queue->name);
}

void
clustered_queues_update(ClusteredQueues *self, ClusteredQueue *clustered, GByteArray *out)
{
    Demand now = permit_get_demand(clustered->queue);
    guint64 returned = 0;

    if (is_turn_over(clustered->queue, &now)) {
        permit_return(clustered->queue);
        now = permit_get_demand(clustered->queue);
    }
    if (now.permit == PERMIT_NONE) {
        if (clustered->is_confirmed) {
            returned = clustered->block;
            clustered->block = 0;
        }
        if (is_empty(&now) && (out == NULL || clustered->number == 0)) {
            remove_clustered(self, clustered);
            return;
        }
    } else if (is_empty(&now)) {
        linger(self, clustered);
    }
    if (self->is_asleep) /* what waits needs nothing until then */
        now = (Demand){.permit = now.permit, .held = now.held};
    if (out != NULL && (returned != 0 || has_changed(clustered, &now)))
        send_demand(clustered, &now, returned, out);
}

static void
list_demand(ClusteredQueue *clustered, gpointer data)
{
    permit_list_demand(clustered->queue);
}

void
clustered_queues_set_asleep(ClusteredQueues *self, gboolean is_asleep)
{
    self->is_asleep = is_asleep;
    clustered_queues_foreach(self, list_demand, NULL);
}

void
clustered_queue_confirm(ClusteredQueue *clustered, const ClusterTurn *permit, guint64 session)
{
    clustered->block = permit->block;
    clustered->session = session;
    clustered->claim = permit->claim;
    clustered->is_confirmed = TRUE;
    clustered->sent.undecided = UNDECIDED_NONE; /* the permit decides it */
    clustered->sent.needs_tokens = FALSE;
}

void
clustered_queues_receive_gone(ClusteredQueues *self, ClusteredQueue *clustered, guint32 number)
{
    const Demand now = permit_get_demand(clustered->queue);

    if (number == clustered->number && is_empty(&now) && now.permit == PERMIT_NONE)
        remove_clustered(self, clustered);
}

static void
reset(ClusteredQueue *clustered, gpointer data)
{
    clustered->is_confirmed = FALSE;
    clustered->must_send = FALSE;
    clustered->number = 0;
    permit_suspend(clustered->queue);
}

void
clustered_queues_reset(ClusteredQueues *self)
{
    clustered_queues_foreach(self, reset, NULL);
}
