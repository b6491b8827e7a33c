/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-host.h"

#include "lease.h"

#define TURN_US         (3 * S)
#define SESSION_US      (15 * S)
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

/* The lock service's queue of one name. */
typedef struct {
    SimHost *host;
    guint name;
    GPtrArray *pending; /* of Request, owned */
    GPtrArray *held;
    PermitMode permit;
    ClaimName claim; /* whose permit it is */
    guint64 block;
    guint n_uses; /* the number of grants */
    gint64 permit_us;
    guint64 boundary;
    guint64 next_token, end_token;
    guint64 handle; /* 0: the gateway doesn't know the queue */
} Queue;

/* The gateway's part of one name. */
typedef struct {
    Claim *claim; /* NULL: none */
    guint64 handle;
    ClaimName granted; /* the node of the last grant or steal that was sent */
    guint generation;  /* of operations; those of earlier ones have no result any more */
} Part;

struct SimHost {
    SimLoop *loop;
    SimEngine *engine;
    const SimHostClass *class;
    gpointer world;
    guint number;
    guint last_id;
    guint64 last_sequence;

    /* The lock service. */
    guint service_life;
    Queue queues[SIM_NAMES];
    gint64 deadline_us;
    guint64 last_handle;
    gboolean is_synced;

    /* Messages between both. */
    guint link; /* grows with each connection; messages of earlier ones are dropped */
    gint64 last_up_us, last_down_us;
    gboolean is_linked;

    /* The gateway. */
    gboolean has_gateway;
    guint gateway_life;
    gboolean is_partitioned;
    gboolean is_ready; /* the lock service has sent all its demands */
    gboolean has_told_synced;
    SimConnection *connection;
    guint64 session;
    guint32 last_turn;
    Lease lease;
    Part parts[SIM_NAMES];
};

static void run_part(SimHost *host, guint name);
static void forward_demand(Queue *queue);
static void send_demand(Queue *queue, gboolean has_lost_permit);
static void connect_link(SimHost *host);
static void begin_connecting(SimHost *host);

/* ---- messages between the lock service and the gateway */

typedef struct {
    SimHost *host;
    guint link;
    SimFunc func;
} MessageHead;

static void
on_message(gpointer data)
{
    MessageHead *head = data;

    if (head->host->is_linked && head->link == head->host->link)
        head->func(data);
}

/* `message` begins with a MessageHead. */
static void
send_message(SimHost *host, gint64 *last_us, SimFunc func, gpointer message)
{
    gint64 arrival_us = host->loop->now_us + sim_range(host->loop, 0, 5 * MS);

    *(MessageHead *)message = (MessageHead){host, host->link, func};
    *last_us = MAX(*last_us, arrival_us);
    sim_loop_at(host->loop, *last_us, on_message, message);
}

/* ---- the lock service */

static gboolean
covers(const Queue *queue, const Request *request)
{
    if (queue->permit == PERMIT_NONE ||
        (queue->permit == PERMIT_SHARED && request->request.mode == PERMIT_EXCLUSIVE))
        return FALSE;
    return request->sequence <= queue->boundary;
}

static gboolean
is_grantable(const Queue *queue, const Request *request)
{
    if (!covers(queue, request) || queue->next_token == queue->end_token)
        return FALSE;
    if (queue->held->len == 0)
        return TRUE;
    return request->request.mode == PERMIT_SHARED &&
           ((Request *)queue->held->pdata[0])->request.mode == PERMIT_SHARED;
}

typedef struct {
    SimHost *host;
    guint name;
    guint id;
} Timer;

static void
timer_in(SimHost *host, guint name, guint id, gint64 delay_us, SimFunc func)
{
    Timer *timer = g_new0(Timer, 1);

    *timer = (Timer){host, name, id};
    sim_loop_in(host->loop, delay_us, func, timer);
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
end_held(Queue *queue, Request *held, gboolean is_lost)
{
    queue->host->class->ended(queue->host->world, &held->lock, is_lost);
    g_ptr_array_remove(queue->held, held);
}

static void process(Queue *queue);

static void
on_hold_over(gpointer data)
{
    Timer *timer = data;
    Queue *queue = &timer->host->queues[timer->name];
    Request *held = find(queue->held, timer->id);

    if (held == NULL)
        return;
    end_held(queue, held, FALSE);
    process(queue);
    forward_demand(queue);
}

static void
grant(Queue *queue, Request *request)
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
    timer_in(host, queue->name, request->id, request->request.hold_us, on_hold_over);
}

static void
process(Queue *queue)
{
    while (queue->pending->len > 0 && is_grantable(queue, queue->pending->pdata[0]))
        grant(queue, queue->pending->pdata[0]);
}

/* Whether the permit is to be given back. */
static gboolean
is_turn_over(const Queue *queue)
{
    if (queue->permit == PERMIT_NONE || queue->held->len > 0)
        return FALSE;
    if (queue->pending->len == 0)
        return queue->boundary != G_MAXUINT64;
    return !covers(queue, queue->pending->pdata[0]) || queue->next_token == queue->end_token;
}

static void
lose_all(SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++) {
        Queue *queue = &host->queues[i];

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

/* The deadline is looked at before anything else. */
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
    check_deadline(((Timer *)data)->host);
}

static void
set_deadline(SimHost *host, gint64 deadline_us)
{
    host->deadline_us = MAX(host->deadline_us, deadline_us);
    timer_in(host, 0, 0, MAX(host->deadline_us - host->loop->now_us, 0), on_deadline);
}

static void
decline(Queue *queue, guint id)
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
    Timer *timer = data;

    decline(&timer->host->queues[timer->name], timer->id);
}

void
sim_host_request(SimHost *host, const SimRequest *request)
{
    Queue *queue = &host->queues[request->name];
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
        timer_in(host, request->name, new->id, STEAL_US, on_undecided_for_long);
    } else {
        g_ptr_array_add(queue->pending, new);
        if (request->if_available)
            timer_in(host, request->name, new->id, IF_AVAILABLE_US, on_undecided_for_long);
    }
    process(queue);
    forward_demand(queue);
}

void
sim_host_abort_any(SimHost *host, guint name)
{
    Queue *queue = &host->queues[name];

    if (queue->pending->len == 0)
        return;
    g_ptr_array_remove_index(queue->pending,
                             (guint)sim_range(host->loop, 0, queue->pending->len - 1));
    process(queue);
    forward_demand(queue);
}

/* ---- messages to the gateway */

typedef struct {
    MessageHead head;
    guint name;
    guint64 handle;
    ClaimDemand demand;
} DemandMessage;

static void settle(SimHost *host);

static void
on_demand(gpointer data)
{
    DemandMessage *message = data;
    SimHost *host = message->head.host;
    Part *part = &host->parts[message->name];

    if (part->claim == NULL) {
        part->claim = claim_new(TURN_US, &host->last_turn);
        if (host->connection != NULL)
            claim_connected(part->claim, host->session, host->loop->now_us);
    }
    sim_trace(host->loop, "host %u: name %u: demand want %d held %d returned %d", host->number,
              message->name, message->demand.want, message->demand.held,
              message->demand.is_returned);
    part->handle = message->handle;
    claim_set_demand(part->claim, &message->demand, host->loop->now_us);
    run_part(host, message->name);
}

static ClaimDemand
get_demand(const Queue *queue)
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
    Timer *timer = data;
    Queue *queue = &timer->host->queues[timer->name];

    if (queue->pending->len == 0 && queue->held->len == 0 && queue->permit != PERMIT_NONE &&
        queue->n_uses == timer->id)
        send_demand(queue, TRUE);
}

static void
send_demand(Queue *queue, gboolean has_lost_permit)
{
    SimHost *host = queue->host;
    DemandMessage *message;
    ClaimDemand demand = get_demand(queue);

    demand.is_returned = is_turn_over(queue) || has_lost_permit;
    if (demand.is_returned) {
        demand.block = queue->block;
        queue->permit = PERMIT_NONE;
        demand.has_steal =
            queue->pending->len > 0 && ((Request *)queue->pending->pdata[0])->request.steal;
    }
    if (queue->permit != PERMIT_NONE && queue->pending->len == 0 && queue->held->len == 0)
        timer_in(host, queue->name, queue->n_uses, LINGER_US, on_linger_over);
    if (!host->is_linked)
        return;
    if (queue->permit != PERMIT_NONE && !demand.has_steal && queue->handle != 0)
        return; /* it can serve itself */
    if (queue->handle == 0) {
        if (demand.want == PERMIT_NONE && demand.held == PERMIT_NONE)
            return;
        queue->handle = ++host->last_handle;
    }
    message = g_new0(DemandMessage, 1);
    message->name = queue->name;
    message->handle = queue->handle;
    message->demand = demand;
    send_message(host, &host->last_up_us, on_demand, message);
}

static void
forward_demand(Queue *queue)
{
    send_demand(queue, FALSE);
}

typedef struct {
    MessageHead head;
    guint64 serial;
} NumberMessage;

/* Once the lock service has sent all its demands, there is none for the other claims. */
static void
drop_unwanted(SimHost *host)
{
    static const ClaimDemand no_demand;

    for (guint i = 0; host->is_ready && i < SIM_NAMES; i++) {
        if (host->parts[i].claim == NULL || host->parts[i].handle != 0)
            continue;
        claim_set_demand(host->parts[i].claim, &no_demand, host->loop->now_us);
        run_part(host, i);
    }
}

static void
on_ready(gpointer data)
{
    SimHost *host = ((MessageHead *)data)->host;

    host->is_ready = TRUE;
    drop_unwanted(host);
    settle(host);
}

static void
on_ack(gpointer data)
{
    NumberMessage *message = data;

    lease_acknowledge(&message->head.host->lease, message->serial);
}

/* ---- messages to the lock service */

typedef struct {
    MessageHead head;
    guint name;
    guint64 handle;
    ClaimAction action;
    ClaimName claim;
    gint64 deadline_us;
} ActionMessage;

static void
take_permit(Queue *queue, const ActionMessage *message)
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
take_yield(Queue *queue, gboolean now)
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
    Queue *queue = &host->queues[message->name];
    static const char *const kinds[] = {"permit", "yield", "revoked", "busy", "gone"};
    Request *first;

    check_deadline(host);
    if (message->head.link != host->link || message->handle != queue->handle)
        return;
    sim_trace(host->loop, "host %u: name %u: %s", host->number, message->name,
              kinds[message->action.kind - CLAIM_PERMIT]);
    switch (message->action.kind) {
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
    case CLAIM_ENSURE:
    case CLAIM_CREATE:
    case CLAIM_LIST:
    case CLAIM_WATCH:
    case CLAIM_GRANT:
    case CLAIM_DELETE:
    case CLAIM_SWAP:
    case CLAIM_STEAL:
    default:
        g_assert_not_reached();
    }
    forward_demand(queue);
}

typedef struct {
    MessageHead head;
    guint64 serial;
    gint64 deadline_us;
} LeaseMessage;

static void
on_lease(gpointer data)
{
    LeaseMessage *message = data;
    SimHost *host = message->head.host;
    NumberMessage *ack;

    check_deadline(host);
    if (message->head.link != host->link)
        return;
    set_deadline(host, message->deadline_us);
    ack = g_new0(NumberMessage, 1);
    ack->serial = message->serial;
    send_message(host, &host->last_up_us, on_ack, ack);
}

static void
lose_without_permit(SimHost *host)
{
    host->is_synced = TRUE;
    for (guint i = 0; i < SIM_NAMES; i++) {
        Queue *queue = &host->queues[i];

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
    lose_without_permit(((MessageHead *)data)->host);
}

static void
on_not_synced_for_long(gpointer data)
{
    Timer *timer = data;

    if (!timer->host->is_synced && timer->id == timer->host->link)
        lose_without_permit(timer->host);
}

/* The lock service connects to the gateway, and sends what it has. */
static void
connect_link(SimHost *host)
{
    host->link++;
    host->is_linked = host->has_gateway;
    host->is_synced = FALSE;
    timer_in(host, 0, host->link, SYNCED_WAIT_US, on_not_synced_for_long);
    if (!host->has_gateway)
        return;
    host->is_ready = FALSE;
    host->has_told_synced = FALSE;
    host->lease.last_ack = host->lease.last_serial; /* what was on the way is lost */
    for (guint i = 0; i < SIM_NAMES; i++) {
        Part *part = &host->parts[i];

        part->handle = 0;
        if (part->claim != NULL)
            claim_service_restarted(part->claim);
        host->queues[i].handle = 0;
        host->queues[i].permit = PERMIT_NONE;
        host->queues[i].boundary = G_MAXUINT64;
        forward_demand(&host->queues[i]);
    }
    send_message(host, &host->last_up_us, on_ready, g_new0(MessageHead, 1));
}

void
sim_host_kill_service(SimHost *host)
{
    check_deadline(host);
    for (guint i = 0; i < SIM_NAMES; i++) {
        Queue *queue = &host->queues[i];

        queue->permit = PERMIT_NONE;
        /* Undecided requests are not stored. */
        for (guint k = queue->pending->len; k > 0; k--)
            if (((Request *)queue->pending->pdata[k - 1])->request.steal ||
                ((Request *)queue->pending->pdata[k - 1])->request.if_available)
                g_ptr_array_remove_index(queue->pending, k - 1);
    }
    connect_link(host);
}

/* ---- the gateway */

static gint64
get_deadline(SimHost *host)
{
    return host->lease.deadline_us;
}

static void
tell_lease(SimHost *host)
{
    LeaseMessage *message;

    if (!host->is_linked)
        return;
    message = g_new0(LeaseMessage, 1);
    message->serial = lease_tell(&host->lease);
    message->deadline_us = get_deadline(host);
    send_message(host, &host->last_down_us, on_lease, message);
}

static void
settle(SimHost *host)
{
    if (!host->is_ready || host->has_told_synced || !host->is_linked)
        return;
    if (host->connection == NULL)
        return;
    for (guint i = 0; i < SIM_NAMES; i++)
        if (host->parts[i].claim != NULL && !claim_is_settled(host->parts[i].claim))
            return;
    host->has_told_synced = TRUE;
    send_message(host, &host->last_down_us, on_synced, g_new0(MessageHead, 1));
}

/* The session must not be used any more. */
static void
end_session(SimHost *host)
{
    if (host->connection != NULL)
        sim_connection_drop(host->connection);
    host->connection = NULL;
    host->session = 0;
    lease_init(&host->lease, SESSION_US);
    for (guint i = 0; i < SIM_NAMES; i++) {
        host->parts[i].generation++;
        if (host->parts[i].claim != NULL) {
            claim_session_ended(host->parts[i].claim, host->loop->now_us);
            run_part(host, i);
        }
    }
    begin_connecting(host);
}

static gboolean
check_lease(SimHost *host)
{
    if (!lease_is_over(&host->lease, host->loop->now_us))
        return FALSE;
    sim_trace(host->loop, "host %u: the lease is over", host->number);
    end_session(host);
    return TRUE;
}

typedef struct {
    SimHost *host;
    guint life;
    guint name;
    guint generation;
    gint64 sent_us;
    gboolean is_write;
    gboolean is_grant;
} Pending;

static void
on_result(gpointer data, const ClaimResult *result)
{
    g_autofree Pending *pending = data;
    SimHost *host = pending->host;
    Part *part = &host->parts[pending->name];

    if (pending->life != host->gateway_life || check_lease(host) ||
        pending->generation != part->generation)
        return;
    if (lease_answered(&host->lease, pending->sent_us, pending->is_write))
        tell_lease(host);
    claim_result(part->claim, result, host->loop->now_us);
    run_part(host, pending->name);
}

static void
send_to_service(SimHost *host, guint name, const ClaimAction *action)
{
    Part *part = &host->parts[name];
    ActionMessage *message;

    if (!host->is_linked || part->handle == 0)
        return;
    message = g_new0(ActionMessage, 1);
    message->name = name;
    message->handle = part->handle;
    message->action = *action;
    message->claim = part->granted;
    message->deadline_us = get_deadline(host);
    send_message(host, &host->last_down_us, on_action, message);
}

static void
send_to_engine(SimHost *host, guint name, const ClaimAction *action)
{
    const ClaimResult unknown = {.outcome = CLAIM_UNKNOWN};
    Part *part = &host->parts[name];
    Pending *pending;

    if (action->kind == CLAIM_GRANT || action->kind == CLAIM_STEAL)
        part->granted = action->name;
    if (host->connection == NULL) {
        claim_result(part->claim, &unknown, host->loop->now_us);
        return;
    }
    pending = g_new0(Pending, 1);
    *pending = (Pending){
        .host = host,
        .life = host->gateway_life,
        .name = name,
        .generation = part->generation,
        .sent_us = host->loop->now_us,
        .is_write = action->kind != CLAIM_LIST && action->kind != CLAIM_WATCH,
    };
    sim_connection_send(host->connection, name, action, on_result, pending);
}

static void
on_part_tick(gpointer data)
{
    Timer *timer = data;
    Part *part = &timer->host->parts[timer->name];

    if (timer->id != timer->host->gateway_life || part->claim == NULL)
        return;
    claim_tick(part->claim, timer->host->loop->now_us);
    run_part(timer->host, timer->name);
}

/* Carries out the actions of a claim. */
static void
run_part(SimHost *host, guint name)
{
    Part *part = &host->parts[name];
    gboolean is_gone = FALSE;
    ClaimAction action;
    gint64 tick_us;

    if (part->claim == NULL)
        return;
    while (claim_take_action(part->claim, &action)) {
        is_gone = action.kind == CLAIM_GONE;
        if (action.kind >= CLAIM_PERMIT)
            send_to_service(host, name, &action);
        else
            send_to_engine(host, name, &action);
        claim_action_clear(&action);
    }
    if (is_gone) {
        g_clear_pointer(&part->claim, claim_free);
        part->handle = 0;
        part->generation++;
    }
    if (part->claim != NULL) {
        tick_us = claim_get_next_tick_us(part->claim);
        if (tick_us >= 0)
            timer_in(host, name, host->gateway_life, MAX(tick_us - host->loop->now_us, 0),
                     on_part_tick);
    }
    settle(host);
}

static void
on_changed(gpointer owner, guint name)
{
    SimHost *host = owner;

    if (host->parts[name].claim == NULL)
        return;
    claim_changed(host->parts[name].claim, host->loop->now_us);
    run_part(host, name);
}

static void
break_parts(SimHost *host)
{
    const ClaimResult unknown = {.outcome = CLAIM_UNKNOWN};

    lease_renewal_failed(&host->lease);
    for (guint i = 0; i < SIM_NAMES; i++) {
        Part *part = &host->parts[i];

        if (part->claim == NULL)
            continue;
        claim_disconnected(part->claim);
        part->generation++;
        if (claim_is_busy(part->claim))
            claim_result(part->claim, &unknown, host->loop->now_us);
        run_part(host, i);
    }
}

static void
on_broken(gpointer owner, gboolean ended)
{
    SimHost *host = owner;

    host->connection = NULL;
    break_parts(host);
    if (ended)
        end_session(host);
    else
        begin_connecting(host);
}

static const SimConnectionClass connection_class = {on_changed, on_broken};

/* Takes over what an earlier process has made. */
static void
adopt_nodes(SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++) {
        g_autoptr(GArray) own = sim_engine_scan(host->engine, i, host->session);

        if (own->len > 0 && host->parts[i].claim == NULL)
            host->parts[i].claim = claim_new(TURN_US, &host->last_turn);
        for (guint k = 0; k < own->len; k++)
            claim_adopt(host->parts[i].claim, &g_array_index(own, ClaimName, k));
    }
}

static void
on_connect(gpointer data)
{
    Timer *timer = data;
    SimHost *host = timer->host;
    gboolean is_new_process = timer->name != 0;

    if (timer->id != host->gateway_life || host->connection != NULL || !host->has_gateway ||
        check_lease(host))
        return;
    if (host->is_partitioned) {
        timer_in(host, timer->name, host->gateway_life, 100 * MS, on_connect);
        return;
    }
    host->connection =
        sim_engine_connect(host->engine, host->session, is_new_process, &connection_class, host);
    if (host->connection == NULL) {
        end_session(host);
        return;
    }
    if (host->session == 0)
        lease_init(&host->lease, SESSION_US);
    host->session = sim_connection_get_session(host->connection);
    if (is_new_process)
        adopt_nodes(host);
    drop_unwanted(host);
    for (guint i = 0; i < SIM_NAMES; i++) {
        if (host->parts[i].claim == NULL)
            continue;
        claim_connected(host->parts[i].claim, host->session, host->loop->now_us);
        run_part(host, i);
    }
    settle(host);
}

static void
begin_connecting(SimHost *host)
{
    timer_in(host, 0, host->gateway_life, sim_range(host->loop, 1 * MS, 300 * MS), on_connect);
}

static void
on_renewed(gpointer data, G_GNUC_UNUSED const ClaimResult *result)
{
    g_autofree Pending *pending = data;
    SimHost *host = pending->host;

    if (pending->life != host->gateway_life || check_lease(host))
        return;
    if (lease_answered(&host->lease, pending->sent_us, pending->is_write))
        tell_lease(host);
}

/* Any read, like the pings of a connection: a server answers it that is cut off from the others. */
static void
ask_server(SimHost *host)
{
    static const ClaimAction list = {.kind = CLAIM_LIST};
    Pending *pending = g_new0(Pending, 1);

    *pending = (Pending){.host = host, .life = host->gateway_life, .sent_us = host->loop->now_us};
    sim_connection_send(host->connection, 0, &list, on_renewed, pending);
}

static void
on_lease_tick(gpointer data)
{
    Timer *timer = data;
    SimHost *host = timer->host;
    gboolean has_nodes = FALSE;
    Pending *pending;

    if (timer->id != host->gateway_life)
        return;
    timer_in(host, 0, host->gateway_life, 100 * MS, on_lease_tick);
    for (guint i = 0; i < SIM_NAMES; i++)
        has_nodes |= host->parts[i].claim != NULL && claim_has_node(host->parts[i].claim);
    if (!has_nodes && host->connection != NULL)
        lease_init(&host->lease, SESSION_US);
    if (check_lease(host) || !has_nodes || host->connection == NULL)
        return;
    if (sim_chance(host->loop, 0.05))
        ask_server(host);
    if (!lease_begin_renewal(&host->lease, host->loop->now_us))
        return;
    pending = g_new0(Pending, 1);
    *pending = (Pending){
        .host = host, .life = host->gateway_life, .sent_us = host->loop->now_us, .is_write = TRUE};
    sim_connection_send(host->connection, 0, NULL, on_renewed, pending);
}

static void
clear_gateway(SimHost *host)
{
    if (host->connection != NULL)
        sim_connection_drop(host->connection);
    host->connection = NULL;
    for (guint i = 0; i < SIM_NAMES; i++) {
        g_clear_pointer(&host->parts[i].claim, claim_free);
        host->parts[i] = (Part){.generation = host->parts[i].generation + 1};
    }
}

static void
on_gateway_start(gpointer data)
{
    SimHost *host = ((Timer *)data)->host;

    if (host->has_gateway)
        return;
    host->has_gateway = TRUE;
    host->gateway_life++;
    host->last_turn = g_rand_int(host->loop->rand);
    lease_init(&host->lease, SESSION_US);
    timer_in(host, 1, host->gateway_life, 30 * MS, on_connect);
    timer_in(host, 0, host->gateway_life, 100 * MS, on_lease_tick);
    connect_link(host);
}

void
sim_host_kill_gateway(SimHost *host)
{
    if (!host->has_gateway)
        return;
    host->has_gateway = FALSE;
    host->gateway_life++;
    host->is_linked = FALSE;
    host->link++;
    clear_gateway(host);
    timer_in(host, 0, 0, sim_range(host->loop, 10 * MS, 3 * S), on_gateway_start);
}

void
sim_host_break_connection(SimHost *host)
{
    if (host->connection != NULL)
        sim_connection_break(host->connection);
}

void
sim_host_set_partitioned(SimHost *host, gboolean is_partitioned)
{
    host->is_partitioned = is_partitioned;
    if (is_partitioned)
        sim_host_break_connection(host);
}

/* ---- */

SimHost *
sim_host_new(
    SimLoop *loop, SimEngine *engine, guint number, const SimHostClass *class, gpointer world)
{
    SimHost *host = g_new0(SimHost, 1);

    host->loop = loop;
    host->engine = engine;
    host->number = number;
    host->class = class;
    host->world = world;
    for (guint i = 0; i < SIM_NAMES; i++) {
        host->queues[i] = (Queue){.host = host, .name = i, .boundary = G_MAXUINT64};
        host->queues[i].pending = g_ptr_array_new_with_free_func(g_free);
        host->queues[i].held = g_ptr_array_new_with_free_func(g_free);
    }
    timer_in(host, 0, 0, 0, on_gateway_start);
    return host;
}

void
sim_host_free(SimHost *host)
{
    clear_gateway(host);
    for (guint i = 0; i < SIM_NAMES; i++) {
        g_ptr_array_unref(host->queues[i].pending);
        g_ptr_array_unref(host->queues[i].held);
    }
    g_free(host);
}

guint
sim_host_get_n_requests(const SimHost *host)
{
    guint n = 0;

    for (guint i = 0; i < SIM_NAMES; i++)
        n += host->queues[i].pending->len + host->queues[i].held->len;
    return n;
}

guint
sim_host_get_n_claims(const SimHost *host)
{
    guint n = 0;

    for (guint i = 0; i < SIM_NAMES; i++)
        n += host->parts[i].claim != NULL;
    return n;
}
