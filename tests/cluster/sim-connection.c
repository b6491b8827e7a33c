/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include <string.h>
#include <zookeeper/zookeeper.h>

#include "cluster/claims/lease.h"
#include "sim-servers-private.h"

/* ---- requests and messages */

SimRequest *
sim_request_new(SimRequestKind kind, const char *path)
{
    SimRequest *request = g_rc_box_new0(SimRequest);

    request->kind = kind;
    request->path = g_strdup(path);
    return request;
}

static void
request_clear(gpointer data)
{
    SimRequest *request = data;

    g_clear_pointer(&request->transaction, sim_transaction_unref);
    g_clear_pointer(&request->children, g_ptr_array_unref);
    g_free(request->path);
    g_free(request->text);
}

void
sim_request_unref(SimRequest *request)
{
    g_rc_box_release_full(request, request_clear);
}

void
sim_message_free(gpointer data)
{
    SimMessage *message = data;

    g_clear_pointer(&message->request, sim_request_unref);
    g_free(message->path);
    g_free(message);
}

static void
end_request(gpointer data)
{
    if (data != NULL)
        sim_request_unref(data);
}

static gint64
get_client_delay_us(SimLoop *loop)
{
    return sim_range(loop, 0, sim_chance(loop, 0.05) && !loop->is_prompt ? 400 * MS : 10 * MS);
}

/* ---- connections */

static void
send_message(SimConnection *connection, SimMessage *message)
{
    sim_channel_send(&connection->down, get_client_delay_us(connection->servers->loop), message);
}

static void
set_reach(SimConnection *connection)
{
    guint reach = connection->servers->reach[connection->host];
    gboolean is_reached = (reach & 1u << connection->server->number) != 0;

    sim_channel_block(&connection->up, !is_reached);
    sim_channel_block(&connection->down, !is_reached);
}

void
sim_connection_break(SimConnection *connection)
{
    SimMessage *message = g_new0(SimMessage, 1);

    g_ptr_array_remove_fast(connection->server->open, connection);
    connection->is_open = FALSE;
    g_queue_clear_full(&connection->requests, (GDestroyNotify)sim_request_unref);
    message->kind = SIM_BROKEN;
    send_message(connection, message);
}

void
sim_connection_changed(const char *path, gboolean are_children, gpointer data)
{
    const Server *server = data;

    if (!g_hash_table_contains(server->watched, path))
        return;
    for (guint i = 0; i < server->open->len; i++) {
        SimConnection *connection = server->open->pdata[i];
        SimMessage *message;

        if (!g_hash_table_remove(connection->watches[are_children], path))
            continue;
        message = g_new0(SimMessage, 1);
        *message =
            (SimMessage){.kind = SIM_FIRED, .path = g_strdup(path), .are_children = are_children};
        send_message(connection, message);
    }
}

static void
read_node(SimConnection *connection, SimRequest *request)
{
    const SimNode *node = sim_tree_find(connection->server->tree, request->path);

    request->r = node != NULL ? ZOK : ZNONODE;
    if (node == NULL || request->kind == SIM_EXISTS)
        return;
    request->text = g_strdup(node->data);
    request->version = node->version;
    if (request->kind == SIM_CHILDREN) {
        request->children = g_ptr_array_new_with_free_func(g_free);
        for (guint i = 0; i < node->children->len; i++)
            g_ptr_array_add(request->children, g_strdup(node->children->pdata[i]));
    }
    if (!request->watches)
        return;
    g_hash_table_add(connection->watches[request->kind == SIM_CHILDREN], g_strdup(request->path));
    g_hash_table_add(connection->server->watched, g_strdup(request->path));
}

static void
answer(SimConnection *connection, SimRequest *request)
{
    SimMessage *message = g_new0(SimMessage, 1);

    request->seen = connection->server->applied;
    if (connection->servers->class->answered != NULL)
        connection->servers->class->answered(request, connection->servers->data);
    if (request->kind != SIM_CONNECT) {
        *message = (SimMessage){.kind = SIM_ANSWERED, .request = g_rc_box_acquire(request)};
    } else if (request->r == ZOK) {
        *message = (SimMessage){.kind = SIM_ACCEPTED,
                                .session = connection->session,
                                .timeout_ms = connection->timeout_ms};
    } else {
        message->kind = SIM_EXPIRED;
    }
    send_message(connection, message);
}

/* Answers what can be answered: a read when all that was sent before it has been carried out. */
static void
answer_requests(SimConnection *connection)
{
    SimRequest *request;

    while ((request = g_queue_peek_head(&connection->requests)) != NULL) {
        if (request->kind <= SIM_EXISTS)
            read_node(connection, request);
        else if (!request->is_done)
            return;
        g_queue_pop_head(&connection->requests);
        answer(connection, request);
        sim_request_unref(request);
    }
}

/* A connection that isn't the session's any more is closed (FinalRequestProcessor,
 * SessionMovedException). */
void
sim_connection_finish(SimRequest *request)
{
    request->is_done = TRUE;
    if (request->connection->is_open && request->r == ZSESSIONMOVED)
        sim_connection_break(request->connection);
    else if (request->connection->is_open)
        answer_requests(request->connection);
}

static void
touch(Server *server, const SimConnection *connection)
{
    SimServers *servers = server->all;

    if (server == servers->leader && expiry_get_us(&servers->expiry, connection->session) >= 0)
        expiry_touch(&servers->expiry, connection->session, connection->timeout_ms * MS,
                     servers->loop->now_us);
    if (server->state == FOLLOWING)
        g_hash_table_insert(server->touched,
                            g_memdup2(&connection->session, sizeof connection->session),
                            GUINT_TO_POINTER(connection->timeout_ms));
}

/* A request has arrived; a server that is ISOLATED forwards it to nobody. */
static void
serve(SimConnection *connection, SimRequest *request)
{
    Server *server = connection->server;

    if (request->kind != SIM_CONNECT)
        touch(server, connection);
    if (request->kind == SIM_PING) {
        answer(connection, request);
        return;
    }
    request->connection = connection;
    if (request->kind == SIM_CONNECT)
        sim_trace(server->all->loop,
                  "servers: server %u: host %u connects, session %" G_GUINT64_FORMAT,
                  server->number, connection->host, connection->session);
    g_queue_push_tail(&connection->requests, g_rc_box_acquire(request));
    if (request->kind > SIM_EXISTS && server->state == LEADING)
        sim_leader_carry_out(server->all, request);
    else if (request->kind > SIM_EXISTS && server->state == FOLLOWING)
        sim_channel_send(&server->up, sim_leader_get_delay_us(server->all->loop),
                         sim_packet_new(PACKET_REQUEST, request));
    if (connection->is_open)
        answer_requests(connection);
}

static void
on_request(gpointer message, gpointer data)
{
    SimRequest *request = message;
    SimConnection *connection = data;
    Server *server = connection->server;

    if (request != NULL && request->kind == SIM_CONNECT) {
        g_ptr_array_add(server->open, connection);
        connection->is_open = TRUE;
        /* The client has seen what this server has not. */
        if (server->state == DOWN || connection->seen > server->applied)
            sim_connection_break(connection);
    }
    if (connection->is_open && request != NULL)
        serve(connection, request);
    else if (connection->is_open)
        sim_connection_break(connection);
    end_request(request);
}

static void
on_message(gpointer message, gpointer data)
{
    SimConnection *connection = data;

    if (connection->is_closed)
        sim_message_free(message);
    else
        connection->received(message, connection->data);
}

/* ---- connections */

SimConnection *
sim_servers_connect(SimServers *servers,
                    guint host,
                    guint server,
                    guint64 session,
                    guint timeout_ms,
                    guint seen,
                    void (*received)(SimMessage *message, gpointer data),
                    gpointer data)
{
    SimConnection *connection = g_new0(SimConnection, 1);

    connection->servers = servers;
    connection->server = &servers->servers[server];
    connection->host = host;
    connection->session = session;
    connection->timeout_ms = timeout_ms;
    connection->seen = seen;
    connection->received = received;
    connection->data = data;
    sim_channel_init(&connection->up, servers->loop, on_request, end_request, connection);
    sim_channel_init(&connection->down, servers->loop, on_message, sim_message_free, connection);
    set_reach(connection);
    g_queue_init(&connection->requests);
    for (guint i = 0; i < 2; i++)
        connection->watches[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_ptr_array_add(servers->connections, connection);
    sim_connection_send(connection, sim_request_new(SIM_CONNECT, NULL));
    return connection;
}

void
sim_connection_free(gpointer data)
{
    SimConnection *connection = data;

    sim_channel_clear(&connection->up);
    sim_channel_clear(&connection->down);
    g_queue_clear_full(&connection->requests, (GDestroyNotify)sim_request_unref);
    g_hash_table_unref(connection->watches[0]);
    g_hash_table_unref(connection->watches[1]);
    g_free(connection);
}

void
sim_connection_send(SimConnection *connection, SimRequest *request)
{
    sim_channel_send(&connection->up, get_client_delay_us(connection->servers->loop), request);
}

void
sim_connection_close(SimConnection *connection, gboolean is_lossy)
{
    SimLoop *loop = connection->servers->loop;

    connection->is_closed = TRUE;
    if (is_lossy && sim_chance(loop, 0.5))
        sim_channel_reset(&connection->up);
    sim_channel_send(&connection->up, get_client_delay_us(loop), NULL);
}

void
sim_servers_break(SimServers *servers, guint host)
{
    for (guint i = 0; i < servers->connections->len; i++) {
        SimConnection *connection = servers->connections->pdata[i];

        if (connection->host != host || !connection->is_open)
            continue;
        if (sim_chance(servers->loop, 0.5))
            sim_channel_reset(&connection->up);
        sim_connection_break(connection);
    }
}

/* Of those with sessions of at least this time-out. */
static const SimConnection *
find_last_connection(const SimServers *servers, guint host, guint timeout_ms)
{
    for (guint i = servers->connections->len; i > 0; i--) {
        const SimConnection *connection = servers->connections->pdata[i - 1];

        if (connection->host == host && connection->timeout_ms >= timeout_ms)
            return connection;
    }
    return NULL;
}

int
sim_servers_get_server(const SimServers *servers, guint host)
{
    const SimConnection *connection = find_last_connection(servers, host, 0);

    return connection != NULL ? (int)connection->server->number : -1;
}

gint64
sim_servers_get_end_us(const SimServers *servers, guint host)
{
    const SimConnection *connection =
        find_last_connection(servers, host, LEASE_TIMEOUT_MIN_US / 1000);

    return connection != NULL ? expiry_get_us(&servers->expiry, connection->session) : -1;
}

void
sim_servers_set_reach(SimServers *servers, guint host, guint reach)
{
    servers->reach[host] = reach;
    for (guint i = 0; i < servers->connections->len; i++) {
        SimConnection *connection = servers->connections->pdata[i];

        if (connection->host == host)
            set_reach(connection);
    }
}
