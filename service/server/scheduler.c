/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "scheduler.h"

#include <poll.h>

#include "admission.h"
#include "bus-calls.h"
#include "bus.h"
#include "cell-offers.h"
#include "cluster-calls.h"
#include "cluster.h"
#include "encode.h"
#include "holders.h"
#include "operations.h"
#include "packet-socket.h"
#include "state.h"
#include "target.h"
#include "watches.h"

/* The number of clients served in one turn; the number of calls per turn for a single client; and
 * the total number of calls per turn for several clients. With these a turn is shorter than a
 * typical scheduling latency of the kernel, so it hardly delays a new call. */
#define CLIENTS_PER_TURN 64
#define CALLS_PER_TURN   64
#define CALLS_OF_SEVERAL 16

/* How long sockets are served without returning to the main loop, and how long to wait for the next
 * packet meanwhile. The latter is longer than a timer tick of most kernels, since for a shorter one
 * they reprogram the timer interrupt, which on a virtual machine takes longer than the rest of the
 * system call. */
#define BUSY_US      1000
#define BUSY_WAIT_MS 10

/* ---- lock sockets */

/* [2.6] After a malformed packet the service can't know which requests the client has made, so it
 * terminates the agent. */
static void
end_malformed(Client *client)
{
    g_debug("%s has sent a malformed packet", client->unique_name);
    clock_tick(client->server);
    operations_replace_agent(client);
    cell_offers_close_socket(client, PACKET_CLOSED_MALFORMED);
}

/* Returns FALSE if nothing was read, or the socket has ended. */
static gboolean
serve_message(Client *client)
{
    LockCall call;
    Target target;

    switch (packet_socket_read(client, &call)) {
    case PACKET_READ_CALL:
        operations_begin(client, &call);
        target = target_resolve(client, &call);
        operations_serve(client, &socket_channel, &call, &target);
        return client->socket != NULL;
    case PACKET_READ_MALFORMED:
        end_malformed(client);
        return FALSE;
    case PACKET_READ_END:
        cell_offers_close_socket(client, 0);
        return FALSE;
    case PACKET_READ_NOTHING:
    default:
        return FALSE;
    }
}

/* Serves up to `n_messages` messages, and none after `position`. The socket of a client that ends
 * is closed when all has been served, or the client does not read the replies. */
static void
serve_socket(Client *client, guint n_messages, guint64 position)
{
    Turn *turn = &client->server->turn;
    const gboolean is_turn_over = turn_is_full(turn);
    gboolean has_more = TRUE;

    while (has_more && n_messages-- > 0 && !turn_is_full(turn) &&
           !packet_socket_is_at(client, position))
        has_more = serve_message(client);
    if (client->is_ending && client->socket != NULL &&
        (!has_more || packet_socket_is_at(client, G_MAXUINT64)))
        cell_offers_close_socket(client, client->is_gone ? 0 : PACKET_CLOSED_SHUTDOWN);
    if (client->socket != NULL) {
        if (is_turn_over)
            packet_socket_serve_later(client);
        else
            packet_socket_pause(client);
    }
    if (client->deferred.length > 0 && scheduler_may_serve(client))
        turn_make_runnable(turn, client);
}

gboolean
scheduler_serve_before(Client *client)
{
    if (client->socket == NULL)
        return TRUE;
    client->socket_barrier = packet_socket_get_end(client);
    serve_socket(client, CALLS_PER_TURN, client->socket_barrier);
    return client->socket == NULL || packet_socket_is_at(client, client->socket_barrier);
}

/* ---- deferred calls */

gboolean
scheduler_may_serve(const Client *client)
{
    /* A client that was never identified has only made calls that concern no agent. */
    if (!server_is_serving(client->server) || client->admission != NULL ||
        !bus_channel.is_writable(client))
        return FALSE;
    return client->socket == NULL || (socket_channel.is_writable(client) &&
                                      packet_socket_is_at(client, client->socket_barrier));
}

static void
serve_deferred(Client *client, guint n_calls)
{
    Server *server = client->server;

    while (n_calls-- > 0 && scheduler_may_serve(client) && !turn_is_full(&server->turn)) {
        LockCall *call = client_take_deferred(client);

        if (call == NULL)
            return;
        turn_count_call(&server->turn, 0);
        bus_calls_serve(client, call);
        lock_call_free(call);
    }
}

/* ---- flooding clients */

static void
make_flood(Client *client)
{
    Server *server = client->server;

    g_info("%s has too many deferred calls; terminating its agent", client->unique_name);
    client_drop_deferred(client);
    watches_remove_client(client);
    client->is_flood = TRUE;
    server->n_floods++;
    if (client->agent != NULL) {
        clock_tick(client->server);
        user_agent_replace(&client->server->user_agent, client->agent);
        notify_effects(server);
    }
    cell_offers_close_socket(client, 0);
    flow_control_ask(client->flow);
}

void
scheduler_defer(Client *client, const LockCall *call)
{
    Server *server = client->server;

    if (!client_may_defer(client)) {
        make_flood(client);
        return;
    }
    client_defer(client, call);
    if (flow_control_is_full(client->flow)) {
        flow_control_ask(client->flow);
        if (client->deferred.length == 1)
            g_debug("%s has not read what it was sent: its calls are deferred",
                    client->unique_name);
    }
    while (server->n_bytes_deferred > server->user_agent.limits.max[LIMIT_BYTES_WAITING_TOTAL])
        make_flood(server_find_greatest(server));
}

/* During the start, the agent that is to be terminated may not be restored yet: lifecycle.c. */
static void
forgive_flood(Client *client)
{
    if (!client->is_flood || flow_control_is_full(client->flow) ||
        !server_is_serving(client->server))
        return;
    client->is_flood = FALSE;
    client->server->n_floods--;
}

/* ---- disconnect of a client, and shutdown */

/* What the client has sent until now is served, and then its end is due. */
static void
begin_end(Client *client)
{
    flow_control_exempt(client->flow);
    client->is_ending = TRUE;
    if (client->socket != NULL)
        packet_socket_end_here(client);
}

/* Serves a share of the last calls of a client. */
static void
serve_last_calls(Client *client)
{
    if (client->socket != NULL)
        serve_socket(client, CALLS_PER_TURN, G_MAXUINT64);
    serve_deferred(client, CALLS_PER_TURN);
    if (client->socket == NULL && client->deferred.length == 0) {
        if (client->is_gone)
            admission_remove_client(client);
    } else if (client->admission == NULL) { /* otherwise its end makes the client runnable */
        turn_make_runnable(&client->server->turn, client);
    }
}

/* The bus notifies the service of every disconnect; those of connections that are not clients must
 * cost next to nothing. */
void
scheduler_on_disconnected(Server *server, const char *unique_name)
{
    Client *client = server_find_client(server, unique_name);

    if (client == NULL)
        return;
    if (server->verbose)
        g_debug("%s has left the bus", unique_name);
    if (client->agent == NULL) {
        /* Its calls wait for its identification, which is not possible any more. */
        admission_remove_client(client);
        return;
    }
    /* There is no order between the bus and a lock socket: what the client sent before it
     * disconnected takes effect first, including deferred calls. */
    client->is_gone = TRUE;
    if (client->socket != NULL)
        packet_socket_mute(client);
    begin_end(client);
    serve_last_calls(client);
}

void
scheduler_end_all(Server *server)
{
    GHashTableIter iter;
    Client *client;

    clock_tick(server);
    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client)) {
        if (client->is_ending)
            continue;
        if (client->agent != NULL) {
            begin_end(client);
            cluster_calls_end_undecided(client);
            turn_make_runnable(&server->turn, client);
        } else {
            flow_control_exempt(client->flow); /* it may be identified later */
        }
    }
    notify_effects(server);
}

/* ---- turns */

static void
run_client(Client *client)
{
    if (client->is_ending) {
        serve_last_calls(client);
        return;
    }
    forgive_flood(client);
    watches_notify_missed(client);
    if (client->agent != NULL)
        holders_notify_client(client);
    serve_deferred(client, CALLS_PER_TURN);
    if (client->deferred.length > 0 && scheduler_may_serve(client))
        turn_make_runnable(&client->server->turn, client);
}

/* While the bus accepts no messages, no client is run. */
static gboolean
may_run_clients(const Server *server)
{
    return server->turn.runnable.length > 0 &&
           (!bus_is_backed_up(server->bus) || server->stage == SERVER_DRAINING);
}

static void
write_demands(const Server *server)
{
    cluster_write_demands(server->cluster);
    if (server->state != NULL)
        state_note_deadline(server->state, cluster_get_deadline_us(server->cluster));
}

static void
commit(gpointer data)
{
    Server *server = data;

    if (!server_is_serving(server)) /* the restored agents have no clients yet */
        return;
    notify_effects(server);
    if (server->user_agent.wanted.length > 0)
        holders_notify(server);
    if (server->cluster != NULL)
        write_demands(server);
    if (server->state != NULL)
        state_commit(server->state);
    if (server->user_agent.cells.length > 0)
        cells_open(&server->user_agent);
}

void
scheduler_end_turn(Server *server)
{
    gint64 next_ms;

    turn_end(&server->turn);
    next_ms = user_agent_get_next_deadline_ms(&server->user_agent);
    g_source_set_ready_time(server->scheduler, next_ms < 0 ? -1 : next_ms * 1000);
}

/* In a turn of its own, so that the sockets have theirs. */
static void
run_clients(Server *server)
{
    Turn *turn = &server->turn;
    guint n_clients = MIN(turn->runnable.length, CLIENTS_PER_TURN);

    if (!may_run_clients(server))
        return;
    for (; n_clients > 0 && turn->runnable.length > 0 && !turn_is_full(turn); n_clients--)
        run_client(turn_take_runnable(turn));
    scheduler_end_turn(server);
}

/* Returns the number of calls for each of `n_clients` clients. */
static guint
get_share(guint n_clients)
{
    return n_clients == 1 ? CALLS_PER_TURN : MAX(CALLS_OF_SEVERAL / n_clients, 1);
}

/* Returns FALSE if there was nothing to do. */
static gboolean
serve_sockets(Server *server, int timeout_ms)
{
    Client *clients[CLIENTS_PER_TURN];
    guint n_clients = packet_sockets_wait(server->sockets, clients, CLIENTS_PER_TURN, timeout_ms);

    for (guint i = 0; i < n_clients; i++)
        serve_socket(clients[i], get_share(n_clients), G_MAXUINT64);
    return n_clients > 0;
}

typedef struct {
    GSource parent;
    Server *server;
} Scheduler;

/* Whether sd-bus has no received or queued messages, so that it only has work when its descriptor
 * is readable. */
static gboolean
bus_is_quiet(const Server *server)
{
    uint64_t ready_us;

    return !bus_is_backed_up(server->bus) &&
           sd_bus_get_timeout(server->bus->connection, &ready_us) >= 0 && ready_us != 0 &&
           sd_bus_get_events(server->bus->connection) == POLLIN;
}

/* Returns BUSY_WAIT_MS, or less if the time-out of a request expires before. */
static int
get_busy_wait_ms(const Server *server, gint64 now_us)
{
    gint64 due_us = g_source_get_ready_time(server->scheduler);

    return due_us < 0 ? BUSY_WAIT_MS : (int)CLAMP((due_us - now_us) / 1000, 0, BUSY_WAIT_MS);
}

/* A client that makes synchronous calls sends the next one some microseconds after the answer.
 * Waiting for it here instead of in the main loop halves the number of system calls. This ends when
 * no packet has arrived for BUSY_WAIT_MS, when the connection to the bus or to a gateway is
 * readable, and after BUSY_US of calls in any case, so that timers and signals are dispatched. */
static void
serve_busy_sockets(Server *server)
{
    gint64 now_us = g_get_monotonic_time();
    const gint64 until_us = now_us + BUSY_US;
    const int bus_fd = sd_bus_get_fd(server->bus->connection);

    /* The bus may have closed the connection. */
    if (bus_fd < 0 || !packet_sockets_add_other_fd(server->sockets, bus_fd))
        return;
    while (server->turn.runnable.length == 0 && bus_is_quiet(server) && now_us < until_us &&
           serve_sockets(server, get_busy_wait_ms(server, now_us))) {
        scheduler_end_turn(server);
        if (server->sockets->is_other_ready)
            break;
        now_us = g_get_monotonic_time();
    }
    packet_sockets_remove_other_fd(server->sockets, bus_fd);
}

/* Whether there is something to do without an event on a socket. What may change that (the bus
 * accepts messages again, a client becomes runnable) is dispatched by the main loop, which then
 * calls this again. */
static gboolean
scheduler_prepare(GSource *source, int *timeout_ms)
{
    const Server *server = ((Scheduler *)source)->server;

    *timeout_ms = -1;
    return may_run_clients(server) || server->sockets->to_visit.length > 0 ||
           server->user_agent.wanted.length > 0;
}

static gboolean
is_deadline_over(const Server *server)
{
    gint64 due_us = g_source_get_ready_time(server->scheduler);

    return due_us >= 0 && due_us <= g_get_monotonic_time();
}

static gboolean
scheduler_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    Server *server = ((Scheduler *)source)->server;

    if (is_deadline_over(server))
        clock_tick(server);
    run_clients(server);
    if (serve_sockets(server, 0)) {
        scheduler_end_turn(server);
        serve_busy_sockets(server);
    }
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs scheduler_funcs = {
    .prepare = scheduler_prepare,
    .dispatch = scheduler_dispatch,
};

void
scheduler_start(Server *server)
{
    GSource *source = g_source_new(&scheduler_funcs, sizeof(Scheduler));

    turn_init(&server->turn, commit, server);
    ((Scheduler *)source)->server = server;
    g_source_set_static_name(source, "lock sockets, runnable clients and time-outs");
    g_source_add_unix_fd(source, server->sockets->epoll_fd, G_IO_IN);
    /* The source does not recurse; but without this GLib removes the descriptor from the poll set
     * and adds it again at each dispatch. */
    g_source_set_can_recurse(source, TRUE);
    g_source_attach(source, NULL);
    server->scheduler = source;
}

void
scheduler_stop(Server *server)
{
    g_source_destroy(server->scheduler);
    g_clear_pointer(&server->scheduler, g_source_unref);
}
