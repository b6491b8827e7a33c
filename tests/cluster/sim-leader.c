/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <zookeeper/zookeeper.h>

#include "sim-servers-private.h"

/* What sessions may have: two ticks, and maxSessionTimeout. */
#define TIMEOUT_MIN_TICKS 2
#define TIMEOUT_MAX_MS    40000

/* ---- packets */

void
sim_packet_free(gpointer data)
{
    Packet *packet = data;

    g_clear_pointer(&packet->request, sim_request_unref);
    g_clear_pointer(&packet->touched, g_hash_table_unref);
    g_free(packet);
}

/* `request` is borrowed. */
Packet *
sim_packet_new(PacketKind kind, SimRequest *request)
{
    Packet *packet = g_new0(Packet, 1);

    packet->kind = kind;
    packet->request = request != NULL ? g_rc_box_acquire(request) : NULL;
    return packet;
}

gint64
sim_leader_get_delay_us(SimLoop *loop)
{
    return sim_range(loop, 0, sim_chance(loop, 0.02) && !loop->is_prompt ? 150 * MS : 3 * MS);
}

static gint64
get_apply_delay_us(SimLoop *loop)
{
    return sim_range(loop, 0, sim_chance(loop, 0.03) && !loop->is_prompt ? 2 * S : 3 * MS);
}

/* ---- the leader */

gboolean
sim_leader_can_commit(const SimServers *servers)
{
    return servers->leader != NULL && !servers->leader->is_cut;
}

void
sim_leader_apply(Server *server, guint applied)
{
    for (; server->applied < applied; server->applied++) {
        const SimTransaction *transaction = server->all->log->pdata[server->applied];

        sim_tree_apply(server->tree, transaction);
        for (guint i = server->open->len; transaction->ended_session != 0 && i > 0; i--) {
            SimConnection *connection = server->open->pdata[i - 1];

            if (connection->session == transaction->ended_session)
                sim_connection_break(connection);
        }
    }
}

/* To all followers, and with it the request of one of them. */
void
sim_leader_tell(SimServers *servers, PacketKind kind, SimRequest *request)
{
    for (guint i = 0; i < SIM_SERVERS; i++) {
        Server *server = &servers->servers[i];
        gboolean is_own = request != NULL && request->connection->server == server;
        Packet *packet;

        if (server->state != FOLLOWING || (kind == PACKET_REQUEST && !is_own))
            continue;
        packet = sim_packet_new(kind, is_own ? request : NULL);
        packet->applied = servers->log->len;
        sim_channel_send(&server->down, sim_leader_get_delay_us(servers->loop), packet);
    }
    if (request != NULL && request->connection->server == servers->leader)
        sim_connection_finish(request);
}

static void clean_containers(SimServers *servers, const SimTransaction *transaction);

/* `request` has led to it, or NULL. */
static void
commit(SimServers *servers, SimTransaction *transaction, SimRequest *request)
{
    g_ptr_array_add(servers->log, transaction);
    servers->class->committed(transaction, servers->data);
    sim_leader_apply(servers->leader, servers->log->len);
    sim_leader_tell(servers, PACKET_COMMIT, request);
    clean_containers(servers, transaction);
}

typedef struct {
    SimServers *servers;
    guint term;
    char path[];
} Empty;

static void
on_clean(gpointer data)
{
    const Empty *empty = data;
    SimServers *servers = empty->servers;
    const SimNode *node;
    SimTransaction *transaction;

    if (!sim_leader_can_commit(servers) || servers->term != empty->term)
        return;
    node = sim_tree_find(servers->leader->tree, empty->path);
    if (node == NULL || node->children->len > 0)
        return;
    sim_trace(servers->loop, "servers: container deleted");
    transaction = sim_transaction_new(0);
    sim_transaction_add(transaction, SIM_DELETE, empty->path);
    commit(servers, transaction, NULL);
}

/* Containers that have become empty are deleted some time later. */
static void
clean_containers(SimServers *servers, const SimTransaction *transaction)
{
    for (guint i = 0; i < transaction->ops->len; i++) {
        const SimOp *op = &g_array_index(transaction->ops, SimOp, i);
        g_autofree char *path = g_path_get_dirname(op->path);
        const SimNode *node = sim_tree_find(servers->leader->tree, path);
        Empty *empty;

        if (op->kind != SIM_DELETE || node == NULL || !node->is_container ||
            node->children->len > 0 || !sim_chance(servers->loop, 0.3))
            continue;
        empty = g_malloc0(sizeof *empty + strlen(path) + 1);
        empty->servers = servers;
        empty->term = servers->term;
        memcpy(empty->path, path, strlen(path));
        sim_loop_in(servers->loop, sim_range(servers->loop, 0, 20 * MS), on_clean, empty);
    }
}

Session *
sim_leader_find_session(const SimServers *servers, guint64 id)
{
    return id == 0 || id > servers->sessions->len ? NULL : servers->sessions->pdata[id - 1];
}

void
sim_leader_end_session(SimServers *servers, Session *session, SimRequest *request)
{
    SimTransaction *transaction = sim_transaction_new(session->id);

    sim_trace(servers->loop, "servers: session %" G_GUINT64_FORMAT " %s", session->id,
              request != NULL ? "closed" : "expired");
    session->has_ended = TRUE;
    expiry_remove(&servers->expiry, session->id);
    sim_tree_delete_owned(servers->leader->tree, session->id, transaction);
    transaction->ended_session = session->id;
    commit(servers, transaction, request);
}

/* Makes the session, or touches it. */
static int
begin_session(SimServers *servers, SimConnection *connection)
{
    Session *session = sim_leader_find_session(servers, connection->session);
    guint tick_ms = (guint)(servers->tick_us / MS);

    if (connection->session != 0 && session->has_ended)
        return ZSESSIONEXPIRED;
    connection->timeout_ms =
        CLAMP(connection->timeout_ms, TIMEOUT_MIN_TICKS * tick_ms, TIMEOUT_MAX_MS);
    if (session == NULL) {
        session = g_new0(Session, 1);
        g_ptr_array_add(servers->sessions, session);
        session->id = connection->session = servers->sessions->len;
        session->timeout_ms = connection->timeout_ms;
    }
    session->owner = connection;
    expiry_touch(&servers->expiry, session->id, connection->timeout_ms * MS, servers->loop->now_us);
    return ZOK;
}

static void
trace_write(const SimServers *servers, const SimRequest *request)
{
    static const char *const kinds[] = {"create", "delete", "set", "check"};

    for (guint i = 0; servers->loop->has_trace && i < request->transaction->ops->len; i++) {
        const SimOp *op = &g_array_index(request->transaction->ops, SimOp, i);

        sim_trace(servers->loop, "servers: session %" G_GUINT64_FORMAT ": %s %s: %s",
                  request->connection->session, kinds[op->kind], op->path, zerror(request->r));
    }
}

/* The leader carries out what a server has forwarded. */
void
sim_leader_carry_out(SimServers *servers, SimRequest *request)
{
    SimConnection *connection = request->connection;
    Session *session = sim_leader_find_session(servers, connection->session);

    if (!sim_leader_can_commit(servers)) {
        g_queue_push_tail(&servers->stalled, g_rc_box_acquire(request));
        return;
    }
    if (request->kind == SIM_CONNECT) {
        request->r = begin_session(servers, connection);
    } else if (session->has_ended) {
        request->r = ZSESSIONEXPIRED;
    } else if (session->owner != connection) {
        request->r = ZSESSIONMOVED;
    } else if (request->kind == SIM_CLOSE) {
        sim_leader_end_session(servers, session, request);
        return;
    } else if (request->kind == SIM_WRITE) {
        request->transaction->session = session->id;
        request->r =
            sim_tree_prepare(servers->leader->tree, request->transaction, &request->failed);
        trace_write(servers, request);
        if (request->r == ZOK) {
            commit(servers, g_rc_box_acquire(request->transaction), request);
            return;
        }
    }
    sim_leader_tell(servers, PACKET_REQUEST, request);
}

/* ---- what servers receive */

static void
on_up(gpointer message, gpointer data)
{
    g_autoptr(Packet) packet = message;
    Server *server = data;
    SimServers *servers = server->all;
    GHashTableIter iter;
    gpointer session, timeout_ms;

    if (packet->kind == PACKET_REQUEST) {
        sim_leader_carry_out(servers, packet->request);
        return;
    }
    g_hash_table_iter_init(&iter, packet->touched);
    while (g_hash_table_iter_next(&iter, &session, &timeout_ms))
        if (expiry_get_us(&servers->expiry, *(guint64 *)session) >= 0)
            expiry_touch(&servers->expiry, *(guint64 *)session, GPOINTER_TO_UINT(timeout_ms) * MS,
                         servers->loop->now_us);
}

static GHashTable *
new_touched(void)
{
    return g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
}

static void
on_down(gpointer message, gpointer data)
{
    Server *server = data;
    SimLoop *loop = server->all->loop;
    Packet *packet = message, *reply;

    if (packet->kind != PACKET_PING) {
        sim_channel_send(&server->to_apply, get_apply_delay_us(loop), packet);
        return;
    }
    sim_packet_free(packet);
    reply = sim_packet_new(PACKET_TOUCHED, NULL);
    reply->touched = g_steal_pointer(&server->touched);
    server->touched = new_touched();
    sim_channel_send(&server->up, sim_leader_get_delay_us(loop), reply);
}

static void
on_to_apply(gpointer message, gpointer data)
{
    g_autoptr(Packet) packet = message;

    sim_leader_apply(data, packet->applied);
    if (packet->request != NULL)
        sim_connection_finish(packet->request);
}

void
sim_server_init(Server *server, SimServers *servers, guint number)
{
    server->all = servers;
    server->number = number;
    server->tree = sim_tree_new(sim_connection_changed, server);
    server->touched = new_touched();
    server->watched = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    server->open = g_ptr_array_new();
    sim_channel_init(&server->up, servers->loop, on_up, sim_packet_free, server);
    sim_channel_init(&server->down, servers->loop, on_down, sim_packet_free, server);
    sim_channel_init(&server->to_apply, servers->loop, on_to_apply, sim_packet_free, server);
}

void
sim_server_clear(Server *server)
{
    sim_tree_free(server->tree);
    g_hash_table_unref(server->touched);
    g_hash_table_unref(server->watched);
    g_ptr_array_unref(server->open);
    sim_channel_clear(&server->up);
    sim_channel_clear(&server->down);
    sim_channel_clear(&server->to_apply);
}
