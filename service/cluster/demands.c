/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "demands.h"

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
demand_free(gpointer data)
{
    Demand *demand = data;

    limits_discharge(&demand->charged->account, CHARGE_DEMAND, 1);
    principal_unref(demand->charged);
    lock_queue_unref(demand->queue);
    g_free(demand);
}

void
demands_init(Demands *self, void (*on_linger)(gpointer data), gpointer data)
{
    *self = (Demands){
        .by_queue = g_hash_table_new_full(NULL, NULL, NULL, demand_free),
        .by_handle = g_hash_table_new(g_int64_hash, g_int64_equal),
        .on_linger = on_linger,
        .data = data,
    };
    g_queue_init(&self->lingering);
}

void
demands_fini(Demands *self)
{
    g_clear_handle_id(&self->linger_id, g_source_remove);
    g_hash_table_unref(self->by_handle);
    g_hash_table_unref(self->by_queue);
}

guint
demands_get_size(const Demands *self)
{
    return g_hash_table_size(self->by_queue);
}

Demand *
demands_find(const Demands *self, guint64 handle)
{
    return g_hash_table_lookup(self->by_handle, &handle);
}

Demand *
demands_get(Demands *self, LockQueue *queue)
{
    Demand *demand = g_hash_table_lookup(self->by_queue, queue);

    if (demand != NULL)
        return demand;
    demand = g_new0(Demand, 1);
    demand->handle = ++self->last_handle;
    demand->queue = lock_queue_ref(queue);
    demand->charged = principal_ref(find_requester(queue));
    limits_charge(&demand->charged->account, CHARGE_DEMAND, 1);
    g_hash_table_insert(self->by_queue, queue, demand);
    g_hash_table_insert(self->by_handle, &demand->handle, demand);
    return demand;
}

void
demands_foreach(Demands *self, void (*visit)(Demand *demand, gpointer data), gpointer data)
{
    g_autoptr(GList) demands = g_hash_table_get_values(self->by_handle);

    for (const GList *link = demands; link != NULL; link = link->next)
        visit(link->data, data);
}

static void
stop_lingering(Demands *self, Demand *demand)
{
    if (demand->in_lingering.data == NULL)
        return;
    demand->in_lingering.data = NULL;
    g_queue_unlink(&self->lingering, &demand->in_lingering);
}

static void
remove_demand(Demands *self, Demand *demand)
{
    stop_lingering(self, demand);
    g_hash_table_remove(self->by_handle, &demand->handle);
    g_hash_table_remove(self->by_queue, demand->queue);
}

/* ---- lingering */

static gboolean
is_empty(const LockDemand *now)
{
    return now->want == PERMIT_NONE && now->held == PERMIT_NONE;
}

static gboolean
on_linger(gpointer data)
{
    Demands *self = data;

    self->linger_id = 0;
    self->on_linger(self->data);
    return G_SOURCE_REMOVE;
}

static void
arm_timer(Demands *self)
{
    if (self->linger_id == 0 && self->lingering.length > 0)
        self->linger_id = g_timeout_add(LINGER_MS, on_linger, self);
}

static void
linger(Demands *self, Demand *demand)
{
    demand->empty_since_us = demand->queue->manager->principal->user_agent->now_us;
    if (demand->in_lingering.data == NULL) {
        demand->in_lingering.data = demand;
        g_queue_push_tail_link(&self->lingering, &demand->in_lingering);
    }
    arm_timer(self);
}

void
demands_end_lingering(Demands *self)
{
    for (guint n_left = self->lingering.length; n_left > 0; n_left--) {
        Demand *demand = g_queue_peek_head(&self->lingering);
        const LockDemand now = permit_get_demand(demand->queue);
        const gint64 now_us = demand->queue->manager->principal->user_agent->now_us;

        stop_lingering(self, demand);
        if (now.permit == PERMIT_NONE || !is_empty(&now))
            continue;
        if (now_us - demand->empty_since_us >= LINGER_MS * (gint64)1000) {
            permit_yield(demand->queue, TRUE);
        } else {
            demand->in_lingering.data = demand;
            g_queue_push_tail_link(&self->lingering, &demand->in_lingering);
        }
    }
    arm_timer(self);
}

/* ---- demands for the gateway */

/* An empty queue keeps its permit until the end of the turn is requested. */
static gboolean
is_turn_over(const LockQueue *queue, const LockDemand *now)
{
    return now->turn_over && (now->n_waiting > 0 || queue->permit->boundary != G_MAXUINT64);
}

/* Whether the gateway has to act on the demand: under a permit, only on what the permit does not
 * decide. */
static gboolean
has_changed(const Demand *demand, const LockDemand *now)
{
    const LockDemand *sent = &demand->sent;

    if (demand->number == 0 || demand->must_send || sent->undecided != now->undecided)
        return TRUE;
    if (now->needs_tokens && !sent->needs_tokens)
        return TRUE;
    return now->permit == PERMIT_NONE && (sent->want != now->want || sent->held != now->held);
}

static void
send_demand(Demand *demand, const LockDemand *now, guint64 returned, GByteArray *out)
{
    const LockManager *manager = demand->queue->manager;
    const LockRequest *holder = g_queue_peek_head(&demand->queue->held);
    const gboolean is_earlier = demand->block != 0 && !demand->is_confirmed;
    guint64 block = returned != 0 ? returned : demand->block;

    /* After a restart, the token is what is known of the permit. */
    if (block == 0 && holder != NULL)
        block = holder->token >> CLUSTER_BLOCK_BITS;
    demand->sent = *now;
    demand->must_send = FALSE;
    cluster_packet_write(out, CLUSTER_PACKET_DEMAND, demand->handle, block,
                         is_earlier ? demand->session : 0, is_earlier ? demand->claim : 0,
                         manager->principal->identity.uid, ++demand->number, now->want, now->held,
                         now->undecided, now->needs_tokens, returned != 0, now->n_waiting,
                         manager->bucket + strlen(BUS_CLUSTER_PREFIX), demand->queue->name);
}

void
demands_update(Demands *self, Demand *demand, GByteArray *out)
{
    LockDemand now = permit_get_demand(demand->queue);
    guint64 returned = 0;

    if (is_turn_over(demand->queue, &now)) {
        permit_return(demand->queue);
        now = permit_get_demand(demand->queue);
    }
    if (now.permit == PERMIT_NONE) {
        if (demand->is_confirmed) {
            returned = demand->block;
            demand->block = 0;
        }
        if (is_empty(&now) && (out == NULL || demand->number == 0)) {
            remove_demand(self, demand);
            return;
        }
    } else if (is_empty(&now)) {
        linger(self, demand);
    }
    if (out != NULL && (returned != 0 || has_changed(demand, &now)))
        send_demand(demand, &now, returned, out);
}

void
demand_confirm(Demand *demand, const ClusterTurn *permit, guint64 session)
{
    demand->block = permit->block;
    demand->session = session;
    demand->claim = permit->claim;
    demand->is_confirmed = TRUE;
    demand->sent.undecided = UNDECIDED_NONE; /* the permit decides it */
    demand->sent.needs_tokens = FALSE;
}

void
demand_note_revoked(Demand *demand)
{
    demand->block = 0;
    demand->must_send = TRUE;
}

void
demand_note_unconfirmed(Demand *demand)
{
    if (!demand->is_confirmed)
        demand->block = 0;
}

void
demands_receive_gone(Demands *self, Demand *demand, guint32 number)
{
    const LockDemand now = permit_get_demand(demand->queue);

    if (number == demand->number && is_empty(&now) && now.permit == PERMIT_NONE)
        remove_demand(self, demand);
}

static void
reset(Demand *demand, gpointer data)
{
    demand->is_confirmed = FALSE;
    demand->must_send = FALSE;
    demand->number = 0;
    permit_suspend(demand->queue);
}

void
demands_reset(Demands *self)
{
    demands_foreach(self, reset, NULL);
}
