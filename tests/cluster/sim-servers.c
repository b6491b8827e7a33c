/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "sim-servers-private.h"

/* Of pings of the leader: less than what cluster/engine/touches.h takes for granted. */
static gint64
get_ping_delay_us(SimLoop *loop)
{
    return sim_range(loop, 0, sim_chance(loop, 0.1) ? 300 * MS : 10 * MS);
}

/* ---- what is done later */

typedef struct {
    Server *server;
    guint epoch;
    void (*func)(Server *server);
} Later;

static void
on_later(gpointer data)
{
    const Later *later = data;

    if (later->epoch == later->server->epoch)
        later->func(later->server);
}

/* Unless its state has changed. */
static void
do_later(Server *server, gint64 delay_us, void (*func)(Server *server))
{
    Later *later = g_new0(Later, 1);

    *later = (Later){server, server->epoch, func};
    sim_loop_in(server->all->loop, delay_us, on_later, later);
}

/* ---- leaders come and go */

static gboolean
is_available(const Server *server)
{
    return !server->is_ended && !server->is_cut;
}

static guint
count_available(const SimServers *servers)
{
    guint n = 0;

    for (guint i = 0; i < SIM_SERVERS; i++)
        n += is_available(&servers->servers[i]);
    return n;
}

static void
set_blocked(Server *server, gboolean is_blocked)
{
    sim_channel_block(&server->up, is_blocked);
    sim_channel_block(&server->down, is_blocked);
}

static void
set_state(Server *server, State state)
{
    server->state = state;
    server->epoch++;
    sim_channel_reset(&server->up);
    sim_channel_reset(&server->down);
    sim_channel_reset(&server->to_apply);
    set_blocked(server, FALSE);
    g_hash_table_remove_all(server->touched);
    while (state != LEADING && state != ISOLATED && server->open->len > 0)
        sim_connection_break(server->open->pdata[server->open->len - 1]);
}

static void
stop_serving(Server *server)
{
    if (server->state != DOWN)
        set_state(server, DOWN);
}

/* It has found the leader, and got all that was committed. */
static void
join(Server *server)
{
    SimServers *servers = server->all;

    if (!is_available(server) || server->state == LEADING)
        return;
    if (!sim_leader_can_commit(servers)) {
        do_later(server, 100 * MS, join);
        return;
    }
    set_state(server, FOLLOWING);
    server->term = servers->term;
    sim_leader_apply(server, servers->log->len);
}

static void
look_for_leader(Server *server)
{
    stop_serving(server);
    do_later(server, sim_range(server->all->loop, 10 * MS, 1 * S), join);
}

static void
on_ping(Server *server)
{
    SimServers *servers = server->all;

    sim_leader_tell(servers, PACKET_PING, NULL);
    do_later(server, servers->tick_us / EXPIRY_PINGS + get_ping_delay_us(servers->loop), on_ping);
}

static void
on_bucket(Server *server)
{
    SimServers *servers = server->all;
    guint64 id;

    while ((id = expiry_take(&servers->expiry, servers->loop->now_us)) != 0) {
        servers->class->expired(id, servers->data);
        if (sim_leader_can_commit(servers))
            sim_leader_end_session(servers, sim_leader_find_session(servers, id), NULL);
        else
            g_ptr_array_add(servers->closing, sim_leader_find_session(servers, id));
    }
    do_later(server, expiry_get_wait_us(&servers->expiry, servers->loop->now_us), on_bucket);
}

static void
drop_stalled(SimServers *servers)
{
    g_queue_clear_full(&servers->stalled, (GDestroyNotify)sim_request_unref);
    g_ptr_array_set_size(servers->closing, 0);
}

static void
lead(Server *server)
{
    SimServers *servers = server->all;

    drop_stalled(servers);
    sim_leader_apply(server, servers->log->len);
    set_state(server, LEADING);
    servers->leader = server;
    servers->term++;
    sim_trace(servers->loop, "servers: server %u leads", server->number);
    expiry_clear(&servers->expiry);
    expiry_init(&servers->expiry, servers->tick_us, sim_range(servers->loop, 0, servers->tick_us));
    for (guint i = 0; i < servers->sessions->len; i++) {
        const Session *session = servers->sessions->pdata[i];

        if (!session->has_ended)
            expiry_touch(&servers->expiry, session->id, session->timeout_ms * MS,
                         servers->loop->now_us);
    }
    on_ping(server);
    do_later(server, expiry_get_wait_us(&servers->expiry, servers->loop->now_us), on_bucket);
}

static void elect_later(SimServers *servers, gint64 delay_us);

/* The others have noticed that the leader is gone, and elect another one, if they are a majority.
 */
static void
on_elect(gpointer data)
{
    SimServers *servers = *(SimServers **)data;
    Server *old = servers->leader, *next;

    if (sim_leader_can_commit(servers))
        return;
    if (2 * count_available(servers) <= SIM_SERVERS) {
        elect_later(servers, 100 * MS);
        return;
    }
    if (old != NULL) {
        set_state(old, ISOLATED);
        do_later(old, sim_range(servers->loop, 0, EXPIRY_SYNC_TICKS * servers->tick_us),
                 stop_serving);
    }
    do {
        next = &servers->servers[sim_range(servers->loop, 0, SIM_SERVERS - 1)];
    } while (!is_available(next));
    for (guint i = 0; i < SIM_SERVERS; i++)
        if (is_available(&servers->servers[i]))
            look_for_leader(&servers->servers[i]);
    lead(next);
}

static void
elect_later(SimServers *servers, gint64 delay_us)
{
    SimServers **holder = g_new0(SimServers *, 1);

    *holder = servers;
    sim_loop_in(servers->loop, delay_us, on_elect, holder);
}

static void
restart(Server *server)
{
    server->is_ended = FALSE;
    look_for_leader(server);
}

void
sim_servers_end_leader(SimServers *servers)
{
    Server *leader = servers->leader;

    if (leader == NULL || count_available(servers) < SIM_SERVERS)
        return;
    servers->leader = NULL;
    leader->is_ended = TRUE;
    for (guint i = 0; i < SIM_SERVERS; i++)
        stop_serving(&servers->servers[i]);
    elect_later(servers, sim_range(servers->loop, 100 * MS, 3 * S));
    do_later(leader, sim_range(servers->loop, 1 * S, 5 * S), restart);
}

/* ---- servers that are cut off */

/* For the leader, the others are. */
static void
block(const Server *server, gboolean is_blocked)
{
    SimServers *servers = server->all;

    for (guint i = 0; i < SIM_SERVERS; i++) {
        Server *other = &servers->servers[i];

        if (other == server || (server == servers->leader && !other->is_cut))
            set_blocked(other, is_blocked);
    }
}

static void
step_down(Server *server)
{
    SimServers *servers = server->all;

    if (!server->is_cut)
        return;
    if (server == servers->leader) {
        servers->leader = NULL;
        drop_stalled(servers);
    }
    stop_serving(server);
}

static gint64
get_notice_us(const SimServers *servers)
{
    return sim_range(servers->loop, servers->tick_us, (EXPIRY_SYNC_TICKS + 1) * servers->tick_us);
}

static void
cut(Server *server)
{
    SimServers *servers = server->all;

    server->is_cut = TRUE;
    block(server, TRUE);
    do_later(server, get_notice_us(servers), step_down);
    if (server == servers->leader)
        elect_later(servers, get_notice_us(servers));
}

static void
heal(Server *server)
{
    SimServers *servers = server->all;

    server->is_cut = FALSE;
    server->healed_us = servers->loop->now_us;
    if (server == servers->leader) {
        block(server, FALSE);
        for (guint i = 0; i < servers->closing->len; i++)
            sim_leader_end_session(servers, servers->closing->pdata[i], NULL);
        g_ptr_array_set_size(servers->closing, 0);
        for (guint n = servers->stalled.length; n > 0; n--) {
            SimRequest *request = g_queue_pop_head(&servers->stalled);

            sim_leader_carry_out(servers, request);
            sim_request_unref(request);
        }
    } else if (server->state == FOLLOWING && server->term == servers->term &&
               sim_leader_can_commit(servers)) {
        block(server, FALSE);
    } else {
        look_for_leader(server);
    }
}

void
sim_servers_cut(SimServers *servers, guint number, gboolean is_cut)
{
    Server *server = &servers->servers[number];

    if (server->is_cut == is_cut)
        return;
    if (!is_cut)
        heal(server);
    else if (count_available(servers) == SIM_SERVERS &&
             servers->loop->now_us >= server->healed_us + SIM_TOLD_US)
        cut(server);
}

/* ---- */

SimServers *
sim_servers_new(SimLoop *loop, gint64 tick_us, const SimServersClass *class, gpointer data)
{
    SimServers *servers = g_new0(SimServers, 1);

    servers->loop = loop;
    servers->tick_us = tick_us;
    servers->class = class;
    servers->data = data;
    g_queue_init(&servers->stalled);
    servers->closing = g_ptr_array_new();
    servers->log = g_ptr_array_new_with_free_func((GDestroyNotify)sim_transaction_unref);
    servers->sessions = g_ptr_array_new_with_free_func(g_free);
    servers->connections = g_ptr_array_new_with_free_func(sim_connection_free);
    for (guint i = 0; i < SIM_HOSTS_MAX; i++)
        servers->reach[i] = SIM_ALL_SERVERS;
    for (guint i = 0; i < SIM_SERVERS; i++)
        sim_server_init(&servers->servers[i], servers, i);
    lead(&servers->servers[sim_range(loop, 0, SIM_SERVERS - 1)]);
    for (guint i = 0; i < SIM_SERVERS; i++)
        join(&servers->servers[i]);
    return servers;
}

void
sim_servers_free(SimServers *servers)
{
    for (guint i = 0; i < SIM_SERVERS; i++)
        sim_server_clear(&servers->servers[i]);
    drop_stalled(servers);
    expiry_clear(&servers->expiry);
    g_ptr_array_unref(servers->closing);
    g_ptr_array_unref(servers->log);
    g_ptr_array_unref(servers->sessions);
    g_ptr_array_unref(servers->connections);
    g_free(servers);
}
