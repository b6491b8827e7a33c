/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-host-private.h"

#define IF_AVAILABLE_US (2 * S)
#define STEAL_US        (5 * S)
#define SYNCED_WAIT_US  (3 * S)
#define LINGER_US       (1 * S)
#define BLOCK_TOKENS    8 /* few, so that blocks are used up */

typedef struct {
    SimRequest request;
    guint id;
    guint64 sequence;
    gint64 asked_us;
    gboolean is_held;
    SimLock lock;
} Request;

static void forward_demand(SimQueue *queue);
static void send_demand(SimQueue *queue, gboolean has_lost_permit);

/* ---- grants */

static gboolean
covers(const SimQueue *queue, const Request *request)
{
    if (queue->permit == PERMIT_NONE ||
        (queue->permit == PERMIT_SHARED && request->request.mode == PERMIT_EXCLUSIVE))
        return FALSE;
    return request->sequence <= queue->boundary;
}

static gboolean
is_grantable(const SimQueue *queue, const Request *request)
{
    if (!covers(queue, request) || queue->next_token == queue->end_token)
        return FALSE;
    if (queue->held->len == 0)
        return TRUE;
    return request->request.mode == PERMIT_SHARED &&
           ((Request *)queue->held->pdata[0])->request.mode == PERMIT_SHARED;
}

static Request *
find(GPtrArray *list, guint id)
{
    for (guint i = 0; i < list->len; i++)
        if (((Request *)list->pdata[i])->id == id)
            return list->pdata[i];
    return NULL;
}

static void
end_held(SimQueue *queue, Request *held, gboolean is_lost)
{
    queue->host->class->ended(queue->host->world, &held->lock, is_lost);
    g_ptr_array_remove(queue->held, held);
}

static void process(SimQueue *queue);

static void
on_hold_over(gpointer data)
{
    SimTimer *timer = data;
    SimQueue *queue = &timer->host->queues[timer->name];
    Request *held = find(queue->held, timer->id);

    if (held == NULL)
        return;
    end_held(queue, held, FALSE);
    process(queue);
    forward_demand(queue);
}

static void
grant(SimQueue *queue, Request *request)
{
    SimHost *host = queue->host;

    g_ptr_array_steal_index(queue->pending, 0);
    queue->n_uses++;
    g_ptr_array_add(queue->held, request);
    request->lock = (SimLock){
        .host = host->number,
        .name = queue->name,
        .id = request->id,
        .mode = request->request.mode,
        .token = queue->next_token++,
        .asked_us = request->asked_us,
        .permit_us = queue->permit_us,
        .claim = queue->claim,
    };
    host->class->granted(host->world, &request->lock);
    sim_host_timer_in(host, queue->name, request->id, request->request.hold_us, on_hold_over);
}

static void
process(SimQueue *queue)
{
    while (queue->pending->len > 0 && is_grantable(queue, queue->pending->pdata[0]))
        grant(queue, queue->pending->pdata[0]);
}

/* Whether the permit can be returned. */
static gboolean
is_turn_over(const SimQueue *queue)
{
    if (queue->permit == PERMIT_NONE || queue->held->len > 0)
        return FALSE;
    if (queue->pending->len == 0)
        return queue->boundary != G_MAXUINT64;
    return !covers(queue, queue->pending->pdata[0]) || queue->next_token == queue->end_token;
}

/* ---- the deadline of the lease */

static void
lose_all(SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++) {
        SimQueue *queue = &host->queues[i];

        gboolean had_permit = queue->permit != PERMIT_NONE;

        while (queue->held->len > 0)
            end_held(queue, queue->held->pdata[0], TRUE);
        queue->permit = PERMIT_NONE;
        send_demand(queue, had_permit);
    }
}

static gboolean
has_permits(const SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++)
        if (host->queues[i].permit != PERMIT_NONE || host->queues[i].held->len > 0)
            return TRUE;
    return FALSE;
}

/* Called before anything else is processed. */
static void
check_deadline(SimHost *host)
{
    if (host->deadline_us == 0 || host->loop->now_us < host->deadline_us)
        return;
    host->deadline_us = 0;
    if (!has_permits(host))
        return;
    sim_trace(host->loop, "host %u: the deadline has passed", host->number);
    lose_all(host);
}

static void
on_deadline(gpointer data)
{
    check_deadline(((SimTimer *)data)->host);
}

static void
set_deadline(SimHost *host, gint64 deadline_us)
{
    host->deadline_us = MAX(host->deadline_us, deadline_us);
    sim_host_timer_in(host, 0, 0, MAX(host->deadline_us - host->loop->now_us, 0), on_deadline);
}

/* ---- requests */

static void
decline(SimQueue *queue, guint id)
{
    Request *request = id != 0 ? find(queue->pending, id) : NULL;

    if (request == NULL || !(request->request.if_available || request->request.steal))
        return;
    g_ptr_array_remove(queue->pending, request);
    process(queue);
    forward_demand(queue);
}

static void
on_undecided_for_long(gpointer data)
{
    SimTimer *timer = data;

    decline(&timer->host->queues[timer->name], timer->id);
}

void
sim_host_request(SimHost *host, const SimRequest *request)
{
    SimQueue *queue = &host->queues[request->name];
    Request *new = g_new0(Request, 1);

    check_deadline(host);
    new->request = *request;
    new->id = ++host->last_id;
    new->sequence = ++host->last_sequence;
    new->asked_us = host->loop->now_us;
    if (request->if_available && (queue->pending->len > 0 || queue->held->len > 0)) {
        g_free(new);
        return;
    }
    if (request->steal && queue->permit == PERMIT_EXCLUSIVE && queue->boundary == G_MAXUINT64) {
        while (queue->held->len > 0)
            end_held(queue, queue->held->pdata[0], FALSE);
        g_ptr_array_insert(queue->pending, 0, new);
    } else if (request->steal) {
        g_ptr_array_insert(queue->pending, 0, new);
        sim_host_timer_in(host, request->name, new->id, STEAL_US, on_undecided_for_long);
    } else {
        g_ptr_array_add(queue->pending, new);
        if (request->if_available)
            sim_host_timer_in(host, request->name, new->id, IF_AVAILABLE_US, on_undecided_for_long);
    }
    process(queue);
    forward_demand(queue);
}

void
sim_host_abort_any(SimHost *host, guint name)
{
    SimQueue *queue = &host->queues[name];

    if (queue->pending->len == 0)
        return;
    g_ptr_array_remove_index(queue->pending,
                             (guint)sim_range(host->loop, 0, queue->pending->len - 1));
    process(queue);
    forward_demand(queue);
}

/* ---- demands */

static ClaimDemand
get_demand(const SimQueue *queue)
{
    const Request *first = queue->pending->len > 0 ? queue->pending->pdata[0] : NULL;
    const Request *held = queue->held->len > 0 ? queue->held->pdata[0] : NULL;

    return (ClaimDemand){
        .want = first != NULL ? first->request.mode : PERMIT_NONE,
        .held = held != NULL ? held->request.mode : PERMIT_NONE,
        .has_if_available = first != NULL && first->request.if_available,
        .has_steal = first != NULL && first->request.steal && !covers(queue, first),
        .block = queue->permit != PERMIT_NONE ? queue->block : 0,
    };
}

static void
on_linger_over(gpointer data)
{
    SimTimer *timer = data;
    SimQueue *queue = &timer->host->queues[timer->name];

    if (queue->pending->len == 0 && queue->held->len == 0 && queue->permit != PERMIT_NONE &&
        queue->n_uses == timer->id)
        send_demand(queue, TRUE);
}

static void
send_demand(SimQueue *queue, gboolean has_lost_permit)
{
    SimHost *host = queue->host;
    ClaimDemand demand = get_demand(queue);

    demand.is_returned = is_turn_over(queue) || has_lost_permit;
    if (demand.is_returned) {
        demand.block = queue->block;
        queue->permit = PERMIT_NONE;
        demand.has_steal =
            queue->pending->len > 0 && ((Request *)queue->pending->pdata[0])->request.steal;
    }
    if (queue->permit != PERMIT_NONE && queue->pending->len == 0 && queue->held->len == 0)
        sim_host_timer_in(host, queue->name, queue->n_uses, LINGER_US, on_linger_over);
    if (!host->is_linked)
        return;
    if (queue->permit != PERMIT_NONE && !demand.has_steal && queue->handle != 0)
        return; /* no decision of the gateway is needed */
    if (queue->handle == 0) {
        if (demand.want == PERMIT_NONE && demand.held == PERMIT_NONE)
            return;
        queue->handle = ++host->last_handle;
    }
    sim_gateway_send_demand(host, queue->name, queue->handle, &demand);
}

static void
forward_demand(SimQueue *queue)
{
    send_demand(queue, FALSE);
}

/* ---- messages from the gateway */

typedef struct {
    SimMessage head;
    guint name;
    guint64 handle;
    ClaimAction action;
    ClaimName claim;
    gint64 deadline_us;
} ActionMessage;

static void
take_permit(SimQueue *queue, const ActionMessage *message)
{
    SimHost *host = queue->host;
    Request *first = queue->pending->len > 0 ? queue->pending->pdata[0] : NULL;

    if (message->deadline_us <= host->loop->now_us) {
        queue->block = message->action.block;
        send_demand(queue, TRUE);
        return;
    }
    set_deadline(host, message->deadline_us);
    queue->permit = message->action.mode;
    queue->claim = message->claim;
    queue->block = message->action.block;
    queue->boundary = G_MAXUINT64;
    queue->permit_us = host->loop->now_us;
    queue->next_token = message->action.block * BLOCK_TOKENS;
    queue->end_token = queue->next_token + BLOCK_TOKENS;
    if (first != NULL && first->request.steal && queue->permit == PERMIT_EXCLUSIVE)
        while (queue->held->len > 0)
            end_held(queue, queue->held->pdata[0], FALSE);
    process(queue);
}

static void
take_yield(SimQueue *queue, gboolean now)
{
    queue->boundary = 0;
    if (!now)
        for (guint i = 0; i < queue->pending->len; i++)
            queue->boundary = MAX(queue->boundary, ((Request *)queue->pending->pdata[i])->sequence);
}

static void
on_action(gpointer data)
{
    ActionMessage *message = data;
    SimHost *host = message->head.host;
    SimQueue *queue = &host->queues[message->name];
    static const char *const kinds[] = {"permit", "yield", "revoked", "busy", "gone"};
    Request *first;

    check_deadline(host);
    if (message->head.link != host->link || message->handle != queue->handle)
        return;
    sim_trace(host->loop, "host %u: name %u: %s", host->number, message->name,
              kinds[message->action.message - CLAIM_PERMIT]);
    switch (message->action.message) {
    case CLAIM_PERMIT:
        take_permit(queue, message);
        break;
    case CLAIM_YIELD:
        take_yield(queue, message->action.now);
        break;
    case CLAIM_REVOKED:
        while (queue->held->len > 0)
            end_held(queue, queue->held->pdata[0], message->action.is_lost);
        queue->permit = PERMIT_NONE;
        break;
    case CLAIM_BUSY:
        first = queue->pending->len > 0 ? queue->pending->pdata[0] : NULL;
        if (first != NULL && first->request.if_available)
            decline(queue, first->id);
        break;
    case CLAIM_GONE:
        queue->handle = 0;
        break;
    case CLAIM_NO_MESSAGE:
    default:
        g_assert_not_reached();
    }
    forward_demand(queue);
}

void
sim_service_send_action(SimHost *host,
                        guint name,
                        guint64 handle,
                        const ClaimAction *action,
                        const ClaimName *claim,
                        gint64 deadline_us)
{
    ActionMessage *message = g_new0(ActionMessage, 1);

    message->name = name;
    message->handle = handle;
    message->action = *action;
    message->claim = *claim;
    message->deadline_us = deadline_us;
    sim_host_send_down(host, on_action, message);
}

typedef struct {
    SimMessage head;
    guint64 serial;
    gint64 deadline_us;
} LeaseMessage;

static void
on_lease(gpointer data)
{
    LeaseMessage *message = data;
    SimHost *host = message->head.host;

    check_deadline(host);
    if (message->head.link != host->link)
        return;
    set_deadline(host, message->deadline_us);
    sim_gateway_send_ack(host, message->serial);
}

void
sim_service_send_lease(SimHost *host, guint64 serial, gint64 deadline_us)
{
    LeaseMessage *message = g_new0(LeaseMessage, 1);

    message->serial = serial;
    message->deadline_us = deadline_us;
    sim_host_send_down(host, on_lease, message);
}

static void
lose_without_permit(SimHost *host)
{
    host->is_synced = TRUE;
    for (guint i = 0; i < SIM_NAMES; i++) {
        SimQueue *queue = &host->queues[i];

        if (queue->permit != PERMIT_NONE)
            continue;
        while (queue->held->len > 0)
            end_held(queue, queue->held->pdata[0], TRUE);
        process(queue);
        forward_demand(queue);
    }
}

static void
on_synced(gpointer data)
{
    lose_without_permit(((SimMessage *)data)->host);
}

void
sim_service_send_synced(SimHost *host)
{
    sim_host_send_down(host, on_synced, g_new0(SimMessage, 1));
}

/* ---- the connection */

static void
on_not_synced_for_long(gpointer data)
{
    SimTimer *timer = data;

    if (!timer->host->is_synced && timer->id == timer->host->link)
        lose_without_permit(timer->host);
}

void
sim_service_begin_connection(SimHost *host)
{
    host->is_synced = FALSE;
    sim_host_timer_in(host, 0, host->link, SYNCED_WAIT_US, on_not_synced_for_long);
}

void
sim_service_connected(SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++) {
        host->queues[i].handle = 0;
        host->queues[i].permit = PERMIT_NONE;
        host->queues[i].boundary = G_MAXUINT64;
        forward_demand(&host->queues[i]);
    }
    sim_gateway_send_ready(host);
}

void
sim_host_kill_service(SimHost *host)
{
    check_deadline(host);
    for (guint i = 0; i < SIM_NAMES; i++) {
        SimQueue *queue = &host->queues[i];

        queue->permit = PERMIT_NONE;
        /* Undecided requests are not stored. */
        for (guint k = queue->pending->len; k > 0; k--)
            if (((Request *)queue->pending->pdata[k - 1])->request.steal ||
                ((Request *)queue->pending->pdata[k - 1])->request.if_available)
                g_ptr_array_remove_index(queue->pending, k - 1);
    }
    sim_host_connect(host);
}

/* ---- */

void
sim_service_init(SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++) {
        host->queues[i] = (SimQueue){.host = host, .name = i, .boundary = G_MAXUINT64};
        host->queues[i].pending = g_ptr_array_new_with_free_func(g_free);
        host->queues[i].held = g_ptr_array_new_with_free_func(g_free);
    }
}

void
sim_service_clear(SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++) {
        g_ptr_array_unref(host->queues[i].pending);
        g_ptr_array_unref(host->queues[i].held);
    }
}

guint
sim_host_get_n_requests(const SimHost *host)
{
    guint n = 0;

    for (guint i = 0; i < SIM_NAMES; i++)
        n += host->queues[i].pending->len + host->queues[i].held->len;
    return n;
}
