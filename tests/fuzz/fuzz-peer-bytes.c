/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Whatever a client may send on its private socket, and however it may leave.
 *
 * The first byte of an input says how the rest is sent, as in `Manner`; a second one, how large its
 * pieces are. The service's edge is the real one, in this process, with a bus that takes everything
 * and says nothing. Another client of the same principal has a lock and waits for one, so that the
 * bytes can steal and be in the way. Each input begins with nothing and has to leave nothing. */

#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/wire-names.h"
#include "service/bus/announce.h"
#include "service/bus/calls.h"
#include "service/bus/clients.h"
#include "service/bus/edge.h"
#include "service/bus/handshake.h"
#include "service/bus/interfaces.h"
#include "service/bus/peers.h"
#include "service/bus/watchers.h"
#include "service/core/lock-manager.h"
#include "service/core/principal.h"
#include "tests/fuzz/fuzz.h"

typedef enum {
    SAYS_HELLO = 1 << 0,   /* a good handshake comes before the bytes */
    IN_PIECES = 1 << 1,    /* the service sees each piece by itself */
    DEAF = 1 << 2,         /* reads nothing until the end */
    CLOSES = 1 << 3,       /* closes its end before the service looks the last time */
    DIES = 1 << 4,         /* the bus says that it is gone, with the last piece unread */
    CALLS_BY_BUS = 1 << 5, /* the service has a call by the bus when it looks the last time */
    IS_WAITED_FOR = 1 << 6 /* what the other client has ends before the client does */
} Manner;

#define BUCKET "b"
#define NAME   "x"

#define DRAIN_BYTES (1 << 16)

/* A service that has not come to rest by then never will. */
#define TURNS_MAX 100000

typedef struct {
    Edge edge;
    int bus_fd; /* the bus's end of the connection to it */
    Client *client;
    Client *other;
    int fd; /* the client's end of its private socket, -1 once closed */
} World;

static const sd_id128_t server_id =
    SD_ID128_MAKE(57, 65, 62, 4c, 6f, 63, 6b, 73, 00, 00, 00, 00, 00, 00, 00, 01);

static void
on_deadline(Edge *edge)
{
    user_agent_expire(&edge->user_agent);
    announce_effects(edge);
}

static void
after_send(Edge *edge)
{
    confirm_send_pings(edge);
}

static void
drain(int fd)
{
    static char bytes[DRAIN_BYTES];

    while (fd >= 0 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
}

/* A client as it is when the bus has told who it is. */
static Client *
add_client(Edge *edge, const char *unique_name)
{
    const PrincipalIdentity identity = {.uid = 1000, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};
    Principal *principal = principal_get(&edge->user_agent, &identity);
    Client *client = g_new0(Client, 1);
    LockResult result = agent_new(principal, unique_name, &client->agent);

    g_assert(result == LOCK_RESULT_OK);
    principal_unref(principal);
    client->edge = edge;
    client->link = &edge->bus_link;
    client->unique_name = g_strdup(unique_name);
    client->agent->edge_data = client;
    g_queue_init(&client->deferred);
    g_queue_init(&client->watches);
    confirm_init(&client->confirm, client, &edge->bus_link);
    g_hash_table_insert(edge->clients->by_name, client->unique_name, client);
    return client;
}

static void
request(World *world, Client *client)
{
    const LockOptions options = {.mode = LOCK_MODE_EXCLUSIVE, .why = ""};
    g_autoptr(LockManager) manager = lock_manager_get(client->agent->principal, BUCKET);
    LockRequest *made = NULL;
    LockResult result;

    edge_tick(&world->edge);
    result = lock_manager_request(manager, client->agent, NAME, &options, &made);
    g_assert(result == LOCK_RESULT_OK);
    announce_effects(&world->edge);
}

static void
set_up(World *world)
{
    static const PeersServe serve = {interfaces_export, calls_take};
    Edge *edge = &world->edge;
    Limits limits;
    LimitId limit;
    sd_bus *bus;
    int r;

    memset(world, 0, sizeof *world);
    limits_init(&limits);
    bus = handshake_new_bus(server_id, &world->bus_fd);
    g_assert(bus != NULL);
    edge_init(edge, bus, &limits, on_deadline);
    edge->after_send = after_send;
    edge->clients = clients_new(calls_serve);
    edge->peers = peers_new(edge, &serve);
    edge->watchers = watchers_new();
    world->client = add_client(edge, ":1.1");
    world->other = add_client(edge, ":1.2");
    request(world, world->other);
    request(world, world->other);
    r = peers_open(world->client, &world->fd, &limit);
    g_assert(r == 0);
}

static void
tear_down(World *world)
{
    if (world->fd >= 0)
        close(world->fd);
    clients_free(&world->edge);
    g_assert(g_hash_table_size(world->edge.user_agent.total->by_uid) == 0);
    peers_free(world->edge.peers);
    watchers_free(world->edge.watchers);
    edge_fini(&world->edge);
    close(world->bus_fd);
}

/* Lets the service look at what there is, until there is nothing. It has to come to rest. */
static void
serve(World *world, gboolean is_deaf)
{
    guint n_turns = 0;

    while (g_main_context_iteration(NULL, FALSE)) {
        drain(world->bus_fd);
        if (!is_deaf)
            drain(world->fd);
        n_turns++;
        g_assert(n_turns < TURNS_MAX);
    }
    edge_end_turn(&world->edge);
    drain(world->bus_fd);
}

/* FALSE when the service has closed the other end. */
static gboolean
send_all(World *world, const void *bytes, size_t n_bytes, gboolean is_deaf)
{
    const uint8_t *at = bytes;

    while (n_bytes > 0) {
        ssize_t n = send(world->fd, at, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && (errno != EAGAIN || is_deaf))
            return FALSE;
        if (n < 0) {
            serve(world, is_deaf);
            n = send(world->fd, at, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0)
                return FALSE; /* too much of one message: see look_ahead() in peers.c */
        }
        at += n;
        n_bytes -= (size_t)n;
    }
    return TRUE;
}

static void
say(World *world, unsigned manner, size_t piece, const uint8_t *bytes, size_t n_bytes)
{
    static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
    gboolean is_deaf = (manner & DEAF) != 0;

    if (manner & SAYS_HELLO && !send_all(world, hello, sizeof hello - 1, is_deaf))
        return;
    if (!(manner & IN_PIECES))
        piece = MAX(n_bytes, 1);
    while (n_bytes > 0) {
        size_t n = MIN(piece, n_bytes);

        if (!send_all(world, bytes, n, is_deaf))
            return;
        bytes += n;
        n_bytes -= n;
        if (n_bytes > 0)
            serve(world, is_deaf);
    }
}

static void
end_other(World *world)
{
    edge_tick(&world->edge);
    user_agent_terminate(&world->edge.user_agent, world->other->agent);
    world->other->agent->edge_data = NULL;
    announce_effects(&world->edge);
    g_hash_table_remove(world->edge.clients->by_name, ":1.2");
}

/* As calls.c does it. */
static void
call_by_bus(World *world)
{
    guint64 position = peers_get_position(world->client);
    g_autoptr(SdBusMessage) call = NULL;
    int r = sd_bus_message_new_method_call(world->edge.bus_link.bus, &call, ":1.0",
                                           WIRE_SERVICE_PATH, WIRE_SERVICE_INTERFACE, "Buckets");

    g_assert(r >= 0);
    r = sd_bus_message_seal(call, 1, 0);
    g_assert(r >= 0);
    clients_defer(world->client, call, clients_measure(world->client, call), position);
    if (position <= world->client->n_socket_bytes)
        peers_serve_deferred(world->client);
}

/* As clients.c does it when the bus says so. */
static void
end_client(World *world)
{
    peers_read_last(world->client);
    watchers_remove_client(world->client);
    peers_close(world->client);
    edge_tick(&world->edge);
    user_agent_terminate(&world->edge.user_agent, world->client->agent);
    world->client->agent->edge_data = NULL;
    announce_effects(&world->edge);
    g_hash_table_remove(world->edge.clients->by_name, ":1.1");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    World world;
    unsigned manner;

    if (size < 2)
        return 0;
    manner = data[0];
    set_up(&world);
    say(&world, manner, (size_t)data[1] + 1, data + 2, size - 2);
    if (manner & CLOSES) {
        close(world.fd);
        world.fd = -1;
    }
    if (manner & CALLS_BY_BUS)
        call_by_bus(&world);
    if (manner & DIES)
        end_client(&world);
    serve(&world, (manner & DEAF) != 0);
    if (manner & IS_WAITED_FOR)
        end_other(&world);
    serve(&world, FALSE);
    g_assert(manner & DIES || g_queue_is_empty(&world.client->deferred));
    tear_down(&world);
    return 0;
}
