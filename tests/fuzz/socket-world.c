/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/fuzz/socket-world.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "service/core/principal.h"
#include "service/server/admission.h"
#include "service/server/intake.h"
#include "service/server/ownership.h"
#include "service/server/scheduler.h"
#include "service/server/server.h"
#include "service/socket/packet-socket.h"
#include "tests/fuzz/fuzz-bus.h"
#include "tests/lib/audit.h"

/* A service that is still busy after this number of turns never becomes idle. */
#define TURNS_MAX 100000

#define UID 1000

/* ---- the server */

/* Replaces the C library's function: nothing can arrive while the server waits, since all peers are
 * in this process. */
int
epoll_wait(int epoll_fd, struct epoll_event *events, int max, int timeout_ms)
{
    return epoll_pwait(epoll_fd, events, max, 0, NULL);
}

static void
start_server(SocketWorld *world)
{
    const ServerOptions options = {0};
    Limits limits;
    sd_bus *bus;

    limits_init(&limits);
    bus = fuzz_bus_new(&world->bus_fd);
    world->server = server_new(bus, &limits, &options);
    world->server->stage = SERVER_RUNNING;
    if (sd_bus_add_filter(bus, NULL, intake_on_message, world->server) < 0 ||
        ownership_subscribe(world->server) < 0)
        g_error("No subscription");
}

static void
check_sums(const SocketWorld *world)
{
    const Server *server = world->server;
    g_autofree char *wrong = NULL;
    GHashTableIter iter;
    const Client *client;
    Audit audit;

    audit_init(&audit, &server->user_agent);
    g_hash_table_iter_init(&iter, server->clients);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&client))
        audit_count(&audit, &client->agent->principal->account, CHARGE_WATCH,
                    client->watches.length);
    wrong = audit_compare(&audit, &server->user_agent);
    audit_fini(&audit);
    g_assert_cmpstr(wrong, ==, NULL);
}

/* ---- messages of the bus */

static void
send_by_bus(SocketWorld *world, GDBusMessage *message, const char *sender)
{
    g_autoptr(GError) error = NULL;
    g_autofree guchar *blob = NULL;
    gsize size, at = 0;

    g_dbus_message_set_sender(message, sender);
    g_dbus_message_set_serial(message, ++world->bus_serial);
    blob = g_dbus_message_to_blob(message, &size, G_DBUS_CAPABILITY_FLAGS_NONE, &error);
    g_assert_no_error(error);
    while (at < size) {
        ssize_t n = send(world->bus_fd, blob + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            at += (gsize)n;
        else
            sd_bus_process(world->server->bus->connection, NULL);
    }
}

void
socket_world_call(SocketWorld *world,
                  Party *party,
                  const char *path,
                  const char *interface,
                  const char *member,
                  GVariant *body)
{
    g_autoptr(GDBusMessage) call =
        g_dbus_message_new_method_call(BUS_SERVICE_NAME, path, interface, member);

    if (body != NULL)
        g_dbus_message_set_body(call, body);
    send_by_bus(world, call, party->name);
    party->n_calls++;
    if (g_str_equal(member, "OpenSocket"))
        party_call_open_socket(party);
}

/* ---- messages of the service on the bus */

static Party *
find_party(SocketWorld *world, const char *name)
{
    for (guint i = 0; i < N_PARTIES; i++)
        if (world->parties[i].is_there && g_strcmp0(world->parties[i].name, name) == 0)
            return &world->parties[i];
    return NULL;
}

/* Its new socket, in place of another one that has been closed before. */
static void
take_socket(Party *party, int fd)
{
    if (party->fd >= 0) {
        while (party_read(party))
            ;
        /* Messages on the old socket are lost, but it need not have noticed its end. */
        g_assert_true(party->fd < 0 || party->is_deaf);
    }
    party_close(party);
    party_open(party, fd);
}

/* Returns FALSE if there was no Ping. */
static gboolean
answer_ping(SocketWorld *world, Party *party)
{
    g_autoptr(GDBusMessage) ping = g_steal_pointer(&party->ping), answer = NULL;

    if (ping == NULL)
        return FALSE;
    answer = g_dbus_message_new_method_reply(ping);
    send_by_bus(world, answer, party->name);
    return TRUE;
}

static void
take_bus_message(SocketWorld *world, GDBusMessage *message)
{
    Party *party = find_party(world, g_dbus_message_get_destination(message));
    guint n_descriptors = g_dbus_message_get_num_unix_fds(message);

    g_assert_nonnull(g_dbus_message_get_destination(message));
    g_assert_cmpuint(n_descriptors, <=, world->descriptors.length);
    while (n_descriptors-- > 0) {
        int fd = GPOINTER_TO_INT(g_queue_pop_head(&world->descriptors));

        if (party != NULL)
            take_socket(party, fd);
        else
            close(fd);
    }
    if (party != NULL && g_strcmp0(g_dbus_message_get_member(message), "Ping") == 0)
        g_set_object(&party->ping, message);
}

static void
take_bus_messages(SocketWorld *world)
{
    GByteArray *bytes = world->received;
    gssize needed = 0;

    while (bytes->len >= 16) {
        g_autoptr(GDBusMessage) message = NULL;
        g_autoptr(GError) error = NULL;

        needed = g_dbus_message_bytes_needed(bytes->data, bytes->len, &error);
        g_assert_no_error(error);
        if ((gsize)needed > bytes->len)
            break;
        message = g_dbus_message_new_from_blob(bytes->data, (gsize)needed,
                                               G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, &error);
        g_assert_no_error(error);
        take_bus_message(world, message);
        g_byte_array_remove_range(bytes, 0, (guint)needed);
    }
}

static void
keep_descriptors(SocketWorld *world, struct msghdr *header)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        const int *fds = (const int *)CMSG_DATA(c);

        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            for (gsize i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
                g_queue_push_tail(&world->descriptors, GINT_TO_POINTER(fds[i]));
    }
}

/* Returns FALSE if there was nothing to read. */
static gboolean
read_bus(SocketWorld *world)
{
    static guint8 bytes[1 << 16];
    char control[CMSG_SPACE(16 * sizeof(int))];
    struct iovec vector = {bytes, sizeof bytes};
    struct msghdr header = {
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    ssize_t n = recvmsg(world->bus_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n <= 0)
        return FALSE;
    keep_descriptors(world, &header);
    g_byte_array_append(world->received, bytes, (guint)n);
    take_bus_messages(world);
    return TRUE;
}

/* ---- turns */

static gboolean
serve_once(SocketWorld *world)
{
    Server *server = world->server;
    gboolean has_done = FALSE;

    while (sd_bus_process(server->bus->connection, NULL) > 0)
        has_done = TRUE;
    has_done |= g_main_context_iteration(NULL, FALSE);
    server_end_turn(server);
    has_done |= read_bus(world);
    for (guint i = 0; i < N_PARTIES; i++)
        if (!world->parties[i].is_deaf) {
            has_done |= answer_ping(world, &world->parties[i]);
            has_done |= party_read(&world->parties[i]);
        }
    return has_done;
}

static void
check_party(const SocketWorld *world, const Party *party)
{
    const Client *client = server_find_client(world->server, party->name);

    g_assert_true((client != NULL) == party->is_there);
    if (client == NULL || party->is_deaf || party->n_calls > PARTY_CALLS_MAX)
        return;
    g_assert_true(party->fd < 0 || client->socket != NULL);
    g_assert_cmpuint(client->deferred.length, ==, 0);
    party_check(party, client->agent);
}

void
socket_world_serve(SocketWorld *world)
{
    guint n_turns = 0;

    while (serve_once(world))
        g_assert_cmpuint(++n_turns, <, TURNS_MAX);
    for (guint i = 0; i < N_PARTIES; i++)
        check_party(world, &world->parties[i]);
    check_sums(world);
}

/* ---- clients */

void
socket_world_send(SocketWorld *world, Party *party, const void *packet, gsize size)
{
    if (party->fd < 0 || party_send(party, packet, size) || party->is_deaf)
        return;
    socket_world_serve(world);
    if (party->fd >= 0)
        party_send(party, packet, size);
}

void
socket_world_come_back(SocketWorld *world, Party *party)
{
    const PrincipalIdentity identity = {.uid = UID, .kind = PRINCIPAL_UNSANDBOXED, .app_id = ""};
    Principal *principal = principal_get(&world->server->user_agent, &identity);
    g_autoptr(Agent) agent = NULL;
    LockResult result;

    g_snprintf(party->name, sizeof party->name, ":1.%u", ++world->n_names);
    result = agent_new(principal, party->name, &agent);
    g_assert_cmpint(result, ==, LOCK_RESULT_OK);
    admission_restore_client(world->server, agent);
    principal_unref(principal);
    party->is_there = TRUE;
    party->n_calls = party->n_opens = 0;
}

void
socket_world_leave(SocketWorld *world, Party *party)
{
    g_autoptr(GDBusMessage) signal =
        g_dbus_message_new_signal(BUS_DRIVER_PATH, BUS_DRIVER_INTERFACE, "NameOwnerChanged");

    g_dbus_message_set_body(signal, g_variant_new("(sss)", party->name, party->name, ""));
    send_by_bus(world, signal, BUS_DRIVER_NAME);
    party->is_there = FALSE;
    g_clear_object(&party->ping);
}

void
socket_world_init(SocketWorld *world)
{
    memset(world, 0, sizeof *world);
    g_queue_init(&world->descriptors);
    world->received = g_byte_array_new();
    start_server(world);
    for (guint i = 0; i < N_PARTIES; i++) {
        party_init(&world->parties[i]);
        socket_world_come_back(world, &world->parties[i]);
    }
}

static void
check_empty(const SocketWorld *world)
{
    const Server *server = world->server;

    g_assert_cmpuint(g_hash_table_size(server->clients), ==, 0);
    g_assert_cmpuint(server->n_bytes_deferred, ==, 0);
    g_assert_cmpuint(server->user_agent.agents.length, ==, 0);
    g_assert_cmpuint(g_hash_table_size(server->user_agent.principals), ==, 0);
    g_assert_false(world->server->sockets->to_visit.length > 0);
}

void
socket_world_fini(SocketWorld *world, gboolean is_shutdown)
{
    for (guint i = 0; i < N_PARTIES; i++)
        world->parties[i].is_deaf = FALSE;
    socket_world_serve(world);
    if (is_shutdown) {
        world->server->stage = SERVER_DRAINING;
        scheduler_end_all(world->server);
    }
    for (guint i = 0; !is_shutdown && i < N_PARTIES; i++)
        if (world->parties[i].is_there)
            socket_world_leave(world, &world->parties[i]);
    while (serve_once(world))
        ;
    if (!is_shutdown)
        check_empty(world);
    server_free(world->server);
    for (guint i = 0; i < N_PARTIES; i++) {
        g_assert_cmpint(world->parties[i].fd, <, 0); /* closed at the other end */
        party_fini(&world->parties[i]);
    }
    g_assert_cmpuint(world->descriptors.length, ==, 0);
    g_byte_array_unref(world->received);
    close(world->bus_fd);
}
