/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-host-private.h"

#define TURN_US (3 * S)

static void run_part(SimHost *host, guint name);
static void begin_connecting(SimHost *host);

/* ---- messages for the lock service */

/* Sends what was written to the output. */
static void
flush(SimHost *host)
{
    if (host->gateway_link != 0)
        sim_host_send(host, FALSE, host->output);
    g_byte_array_set_size(host->output, 0);
}

static void
send_lease(SimHost *host, ClusterState state)
{
    if (host->gateway_link == 0)
        return;
    cluster_packet_write(host->output, CLUSTER_PACKET_LEASE, lease_next_serial(&host->lease),
                         host->lease.deadline_us, state, CLUSTER_REASON_NONE);
    flush(host);
}

static void
settle(SimHost *host)
{
    if (!host->is_ready || host->has_sent_synced || host->connection == NULL)
        return;
    for (guint i = 0; i < SIM_NAMES; i++)
        if (host->parts[i].claim != NULL && !claim_is_settled(host->parts[i].claim))
            return;
    host->has_sent_synced = TRUE;
    cluster_packet_write(host->output, CLUSTER_PACKET_SYNCED);
    flush(host);
}

/* ---- messages from the lock service */

static void
take_demand(SimHost *host, const ClusterDemand *message)
{
    guint name = (guint)(message->name[0] - '0');
    SimPart *part = &host->parts[name];
    const ClaimDemand demand = {
        .want = message->want,
        .held = message->held,
        .has_if_available = message->undecided == UNDECIDED_IF_AVAILABLE,
        .has_steal = message->undecided == UNDECIDED_STEAL,
        .is_returned = message->is_turn_over,
        .block = message->block,
    };

    if (part->claim == NULL) {
        part->claim = claim_new(TURN_US, &host->last_turn);
        if (host->connection != NULL)
            claim_connected(part->claim, host->session, host->loop->now_us);
    }
    sim_trace(host->loop, "host %u: name %u: demand %u of %u: want %d held %d returned %d",
              host->number, name, message->number, (guint)message->handle, demand.want, demand.held,
              demand.is_returned);
    part->handle = message->handle;
    part->number = message->number;
    claim_set_demand(part->claim, &demand, host->loop->now_us);
    run_part(host, name);
}

/* Once the lock service has sent all its demands, claims without a handle are not needed. */
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

void
sim_gateway_receive(SimHost *host, const ClusterMessage *message)
{
    switch (message->kind) {
    case CLUSTER_PACKET_HELLO:
        host->is_ready = FALSE;
        host->has_sent_synced = FALSE;
        send_lease(host, CLUSTER_STATE_ACTIVE);
        break;
    case CLUSTER_PACKET_DEMAND:
        take_demand(host, &message->demand);
        break;
    case CLUSTER_PACKET_READY:
        host->is_ready = TRUE;
        drop_unwanted(host);
        settle(host);
        break;
    case CLUSTER_PACKET_ACK:
        lease_acknowledge(&host->lease, message->acknowledged);
        break;
    default:
        g_assert_not_reached();
    }
}

void
sim_gateway_closed(SimHost *host)
{
    host->is_ready = FALSE;
    for (guint i = 0; i < SIM_NAMES; i++) {
        host->parts[i].handle = 0;
        if (host->parts[i].claim != NULL)
            claim_service_restarted(host->parts[i].claim);
    }
}

/* ---- the claims */

/* The session must not be used after this. */
static void
end_session(SimHost *host)
{
    if (host->connection != NULL)
        sim_connection_drop(host->connection);
    host->connection = NULL;
    host->session = 0;
    host->lease.deadline_us = 0;
    host->lease.is_renewing = FALSE;
    for (guint i = 0; i < SIM_NAMES; i++) {
        host->parts[i].generation++;
        if (host->parts[i].claim != NULL) {
            claim_session_ended(host->parts[i].claim, host->loop->now_us);
            run_part(host, i);
        }
    }
    send_lease(host, CLUSTER_STATE_LOST);
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
    SimPart *part = &host->parts[pending->name];

    if (pending->life != host->gateway_life || check_lease(host) ||
        pending->generation != part->generation)
        return;
    if (lease_answered(&host->lease, pending->sent_us, pending->sent_us - SIM_TOUCH_AGE_US,
                       pending->is_write))
        send_lease(host, CLUSTER_STATE_ACTIVE);
    claim_result(part->claim, result, host->loop->now_us);
    run_part(host, pending->name);
}

static void
send_to_service(SimHost *host, guint name, const ClaimAction *action)
{
    const SimPart *part = &host->parts[name];
    GByteArray *out = host->output;

    if (part->handle == 0)
        return;
    switch (action->message) {
    case CLAIM_PERMIT:
        cluster_packet_write(out, CLUSTER_PACKET_PERMIT, part->handle, action->mode,
                             host->lease.deadline_us, action->block);
        break;
    case CLAIM_YIELD:
        cluster_packet_write(out, CLUSTER_PACKET_YIELD, part->handle, action->now);
        break;
    case CLAIM_REVOKED:
        cluster_packet_write(out, CLUSTER_PACKET_REVOKED, part->handle,
                             action->is_lost ? CLUSTER_REVOKED_LOST : CLUSTER_REVOKED_STOLEN);
        break;
    case CLAIM_BUSY:
    case CLAIM_GONE:
        cluster_packet_write(
            out, action->message == CLAIM_BUSY ? CLUSTER_PACKET_BUSY : CLUSTER_PACKET_GONE,
            part->handle, part->number);
        break;
    case CLAIM_NO_MESSAGE:
    default:
        g_assert_not_reached();
    }
    flush(host);
}

static void
send_to_engine(SimHost *host, guint name, const ClaimAction *action)
{
    const ClaimResult unknown = {.outcome = CLAIM_UNKNOWN};
    SimPart *part = &host->parts[name];
    Pending *pending;

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
        .is_write = action->operation != CLAIM_LIST && action->operation != CLAIM_WATCH,
    };
    sim_connection_send(host->connection, name, action, on_result, pending);
}

static void
on_part_tick(gpointer data)
{
    SimTimer *timer = data;
    SimPart *part = &timer->host->parts[timer->name];

    if (timer->id != timer->host->gateway_life || part->claim == NULL)
        return;
    claim_tick(part->claim, timer->host->loop->now_us);
    run_part(timer->host, timer->name);
}

/* Carries out the actions of a claim. */
static void
run_part(SimHost *host, guint name)
{
    SimPart *part = &host->parts[name];
    gboolean is_gone = FALSE;
    ClaimAction action;
    gint64 tick_us;

    if (part->claim == NULL)
        return;
    while (claim_take_action(part->claim, &action)) {
        is_gone = action.message == CLAIM_GONE;
        if (action.message != CLAIM_NO_MESSAGE)
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
            sim_host_timer_in(host, name, host->gateway_life, MAX(tick_us - host->loop->now_us, 0),
                              on_part_tick);
    }
    settle(host);
}

/* ---- the connection to the engine */

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
        SimPart *part = &host->parts[i];

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

/* Takes over the claims of an earlier process of this gateway. */
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

/* ---- the lease */

static void
on_answered(gpointer data, G_GNUC_UNUSED const ClaimResult *result)
{
    g_autofree Pending *pending = data;
    SimHost *host = pending->host;

    if (pending->life != host->gateway_life || check_lease(host))
        return;
    if (lease_answered(&host->lease, pending->sent_us, pending->sent_us - SIM_TOUCH_AGE_US,
                       pending->is_write))
        send_lease(host, CLUSTER_STATE_ACTIVE);
}

/* Writes the host node; or reads, as a connection's pings: a server that is cut off from the others
 * still answers. */
static void
ask_server(SimHost *host, gboolean is_write)
{
    static const ClaimAction list = {.operation = CLAIM_LIST};
    Pending *pending = g_new0(Pending, 1);

    *pending = (Pending){.host = host,
                         .life = host->gateway_life,
                         .sent_us = host->loop->now_us,
                         .is_write = is_write};
    sim_connection_send(host->connection, 0, is_write ? NULL : &list, on_answered, pending);
}

static gboolean
has_nodes(const SimHost *host)
{
    for (guint i = 0; i < SIM_NAMES; i++)
        if (host->parts[i].claim != NULL && claim_has_node(host->parts[i].claim))
            return TRUE;
    return FALSE;
}

static void
on_lease_tick(gpointer data)
{
    SimTimer *timer = data;
    SimHost *host = timer->host;

    if (timer->id != host->gateway_life)
        return;
    sim_host_timer_in(host, 0, host->gateway_life, 100 * MS, on_lease_tick);
    if (!has_nodes(host) && host->connection != NULL)
        host->lease.deadline_us = 0;
    if (check_lease(host) || !has_nodes(host) || host->connection == NULL)
        return;
    if (sim_chance(host->loop, 0.05))
        ask_server(host, FALSE);
    if (host->gateway_link != 0 && lease_begin_renewal(&host->lease, host->loop->now_us))
        ask_server(host, TRUE);
}

static void
on_connect(gpointer data)
{
    SimTimer *timer = data;
    SimHost *host = timer->host;
    gboolean is_new_process = timer->name != 0;

    if (timer->id != host->gateway_life || host->connection != NULL || !host->has_gateway ||
        check_lease(host))
        return;
    if (host->is_partitioned) {
        sim_host_timer_in(host, timer->name, host->gateway_life, 100 * MS, on_connect);
        return;
    }
    host->connection =
        sim_engine_connect(host->engine, host->session, is_new_process, &connection_class, host);
    if (host->connection == NULL) {
        end_session(host);
        return;
    }
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
    if (host->lease.deadline_us == 0 && has_nodes(host))
        ask_server(host, TRUE);
    settle(host);
}

static void
begin_connecting(SimHost *host)
{
    sim_host_timer_in(host, 0, host->gateway_life, sim_range(host->loop, 1 * MS, 300 * MS),
                      on_connect);
}

/* ---- */

void
sim_gateway_clear(SimHost *host)
{
    if (host->connection != NULL)
        sim_connection_drop(host->connection);
    host->connection = NULL;
    for (guint i = 0; i < SIM_NAMES; i++) {
        g_clear_pointer(&host->parts[i].claim, claim_free);
        host->parts[i] = (SimPart){.generation = host->parts[i].generation + 1};
    }
}

static void
on_gateway_start(gpointer data)
{
    SimHost *host = ((SimTimer *)data)->host;

    if (host->has_gateway)
        return;
    host->has_gateway = TRUE;
    host->is_ready = FALSE;
    host->gateway_life++;
    host->last_turn = g_rand_int(host->loop->rand);
    lease_init(&host->lease, SIM_TIMEOUT_US);
    sim_host_timer_in(host, 1, host->gateway_life, 30 * MS, on_connect);
    sim_host_timer_in(host, 0, host->gateway_life, 100 * MS, on_lease_tick);
}

void
sim_host_kill_gateway(SimHost *host)
{
    if (!host->has_gateway)
        return;
    host->has_gateway = FALSE;
    host->gateway_life++;
    sim_host_close_gateway_link(host);
    sim_gateway_clear(host);
    sim_host_timer_in(host, 0, 0, sim_range(host->loop, 10 * MS, 3 * S), on_gateway_start);
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

void
sim_gateway_init(SimHost *host)
{
    sim_host_timer_in(host, 0, 0, 0, on_gateway_start);
}

/* Until the lock service connects again, a claim without a node stays for the demand that it may
 * have. */
guint
sim_host_get_n_claims(const SimHost *host)
{
    guint n = 0;

    for (guint i = 0; i < SIM_NAMES; i++)
        n += host->parts[i].claim != NULL &&
             (host->gateway_link != 0 || claim_has_node(host->parts[i].claim));
    return n;
}
