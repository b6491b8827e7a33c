/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/peers.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/bus/clients.h"
#include "service/bus/handshake.h"
#include "service/bus/look-ahead.h"
#include "service/core/limits.h"
#include "service/core/principal.h"
#include "service/descriptors.h"

/* Sockets that are served in one turn, and messages that they have in it together: so few that who
 * comes meanwhile waits less than it takes to be given the processor. The burst of one socket,
 * while no other has anything, is one turn. The same for calls by the bus that have waited for a
 * socket. */
#define SOCKETS_PER_TURN     64
#define MESSAGES_PER_TURN    8
#define MESSAGES_OF_ONE_ONLY 32
/* When these are looked at again, if the bus took no answers. */
#define BUS_RETRY_US 20000L
/* Of answers, to one client: then it is seen first whether it reads them. */
#define ANSWER_BYTES_PER_TURN (64UL * 1024)

/* How long a handshake may take, and a message that has begun. */
#define PATIENCE_SECS 5

/* How often it is looked at whether a client has read the answers of its handshake. */
#define HEARD_MS 2

/* What a client may leave unread, besides the message that is on its way. sd-bus's own answers are
 * not among them, and there is one of them at most when we stop to read. */
#define UNREAD_BYTES_MAX    (1024UL * 1024)
#define UNREAD_MESSAGES_MAX 4096
#define UNREAD_ANSWERS_MAX  64

/* The kernel doubles it. sd-bus would ask for 8 MiB, for each client that doesn't read. */
#define KERNEL_BYTES_MAX (128 * 1024)

/* As much as a client may have sent before its end: more than any socket holds. */
#define LAST_BYTES_MAX (16UL * 1024 * 1024)

struct Peers {
    GSource source;
    Edge *edge;
    const PeersServe *serve;
    int epoll_fd;
    sd_id128_t server_id;
    GQueue due;   /* of Client: calls of theirs have waited for the socket, and need not any more */
    GQueue stuck; /* of Peer: to be half closed */
    GQueue closed; /* of Peer: to be freed when nobody looks at them any more */
};

typedef enum {
    PEER_HANDSHAKE,
    PEER_OPEN,
    /* The client didn't read. We write no more and sd-bus is gone; what the client sends is read
     * when it closes its end. */
    PEER_HALF_CLOSED,
    PEER_CLOSED,
} PeerState;

/* `link` is the first thing in it. Its sd-bus has the socket by a descriptor of its own, once the
 * handshake is done. */
struct Peer {
    Link link;
    PeerState state;
    int fd;
    guint32 events; /* what epoll waits for */
    Handshake handshake;
    guint timer_id; /* ends the handshake, or the wait for the rest of a message */
    guint heard_id; /* looks whether the client has read the handshake's answers */
    gboolean is_stuck;
    gsize n_unread;       /* bytes that are charged, as the client has not read them */
    gboolean has_message; /* one has come out of sd-bus */
};

static Peers *
get_peers(const Peer *peer)
{
    return peer->link.edge->peers;
}

static LimitsAccount *
get_account(const Client *client)
{
    return client->agent->principal->account;
}

/* ---- what epoll waits for */

static void
wait_for(Peer *peer, guint32 events)
{
    struct epoll_event event = {.events = events, .data.ptr = peer};

    if (peer->events == events)
        return;
    peer->events = events;
    epoll_ctl(get_peers(peer)->epoll_fd, EPOLL_CTL_MOD, peer->fd, &event);
}

static void
wait_for_next(Peer *peer)
{
    if (peer->state == PEER_OPEN)
        wait_for(peer, outbox_is_backed_up(&peer->link.outbox) ? EPOLLOUT : EPOLLIN);
}

static gboolean
add_to_epoll(Peer *peer, guint32 events)
{
    struct epoll_event event = {.events = events, .data.ptr = peer};

    peer->events = events;
    return epoll_ctl(get_peers(peer)->epoll_fd, EPOLL_CTL_ADD, peer->fd, &event) == 0;
}

/* ---- calls by the bus that wait for what is before them */

/* While the bus takes no answers, calls that came by it are not served either. */
static gboolean
bus_is_backed_up(const Edge *edge)
{
    return outbox_is_backed_up(&edge->bus_link.outbox);
}

void
peers_notice_due(Client *client)
{
    Peers *peers = client->edge->peers;

    if (client->is_due || !clients_has_due(client))
        return;
    client->is_due = TRUE;
    g_queue_push_tail(&peers->due, client);
    g_source_set_ready_time(&peers->source, 0);
}

/* Whether some of them still need it to be read. */
static gboolean
is_awaited(const Client *client)
{
    return clients_get_last_position(client) > client->n_socket_bytes;
}

/* All that was before them has been read, or never will be. */
static void
make_all_due(Client *client)
{
    client->n_socket_bytes = MAX(client->n_socket_bytes, clients_get_last_position(client));
    peers_notice_due(client);
}

/* ---- the end of a socket */

static void
close_bus(Peer *peer)
{
    sd_bus_close(peer->link.bus);
    g_clear_pointer(&peer->link.bus, sd_bus_unref);
}

/* Charges what it has unread now. */
static void
charge_unread(Peer *peer, gsize n_bytes)
{
    LimitsAccount *account = get_account(peer->link.client);

    if (n_bytes > peer->n_unread)
        limits_charge(account, CHARGE_UNREAD_BYTE, (guint32)(n_bytes - peer->n_unread));
    else if (n_bytes < peer->n_unread)
        limits_discharge(account, CHARGE_UNREAD_BYTE, (guint32)(peer->n_unread - n_bytes));
    peer->n_unread = n_bytes;
}

/* Nothing more is written to the socket: what the client has not been told, and will be, goes by
 * the bus. */
static void
give_up_bus(Peer *peer)
{
    Client *client = peer->link.client;
    Link *bus_link = &peer->link.edge->bus_link;

    outbox_give_up(&peer->link.outbox, &bus_link->outbox);
    if (client->link == &peer->link)
        client->link = bus_link;
    confirm_end(&peer->link.confirm);
    if (peer->link.bus != NULL)
        close_bus(peer);
    charge_unread(peer, 0);
    peer->link.outbox.bus = NULL; /* for good, though last words may be read by another one */
}

/* The peer itself lives until the next turn. */
static void
close_peer(Peer *peer)
{
    Client *client = peer->link.client;
    Peers *peers = get_peers(peer);

    if (peer->state == PEER_CLOSED)
        return;
    peer->state = PEER_CLOSED;
    give_up_bus(peer);
    outbox_fini(&peer->link.outbox);
    g_clear_handle_id(&peer->timer_id, g_source_remove);
    g_clear_handle_id(&peer->heard_id, g_source_remove);
    handshake_clear(&peer->handshake);
    link_clear_bucket(&peer->link);
    close(peer->fd);

    client->peer = NULL;
    make_all_due(client);
    limits_discharge(get_account(client), CHARGE_PRIVATE_SOCKET, 1);
    if (peer->is_stuck)
        g_queue_remove(&peers->stuck, peer);
    g_queue_push_tail(&peers->closed, peer);
    g_source_set_ready_time(&peers->source, 0);
}

/* ---- sd-bus on it */

static int
on_any_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    Link *link = userdata;

    ((Peer *)link)->has_message = TRUE;
    if (link->edge->peers->serve->take(link, message))
        return 1;
    edge_before_message(link->edge, message);
    return sd_bus_message_is_signal(message, NULL, NULL) > 0; /* nobody listens to them here */
}

/* A new sd-bus for the link; `*out_fd` is what it listens to. */
static gboolean
make_bus(Peer *peer, int *out_fd)
{
    sd_bus *bus = handshake_new_bus(get_peers(peer)->server_id, out_fd);

    if (bus == NULL)
        return FALSE;
    peer->link.bus = bus;
    if (sd_bus_add_filter(bus, NULL, on_any_message, &peer->link) >= 0 &&
        get_peers(peer)->serve->export(&peer->link) >= 0)
        return TRUE;
    close(*out_fd);
    close_bus(peer);
    return FALSE;
}

/* ---- the end of reading */

static gboolean
on_timeout(gpointer data)
{
    Peer *peer = data;

    peer->timer_id = 0;
    close_peer(peer);
    edge_end_turn(peer->link.edge);
    return G_SOURCE_REMOVE;
}

static gboolean
is_open(const Peer *peer)
{
    return peer->state == PEER_OPEN;
}

/* sd-bus gives up a connection as soon as it can't write, with all that it could still read. Yet
 * what a client sent before it left takes effect. So another sd-bus is given what is left in the
 * socket, which begins with a message. Nobody hears the answers. */
static void
read_last_words(Peer *peer)
{
    char bytes[4096];
    gsize n_bytes = 0;
    ssize_t n = recv(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    int fd;

    give_up_bus(peer);
    if (n <= 0 || !make_bus(peer, &fd))
        return;
    while (n > 0 && n_bytes < LAST_BYTES_MAX &&
           send(fd, bytes, (gsize)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n) {
        n_bytes += (gsize)n;
        while (peer->state != PEER_CLOSED && sd_bus_process(peer->link.bus, NULL) > 0)
            ;
        if (peer->state == PEER_CLOSED)
            break;
        n = recv(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    }
    close(fd);
}

/* The client can read what it has been sent, and then the end; and it can write until it does. */
static void
half_close(Peer *peer)
{
    g_debug("%s doesn't read its private socket", peer->link.client->unique_name);
    if (!is_open(peer)) {
        close_peer(peer);
        return;
    }
    give_up_bus(peer);
    peer->state = PEER_HALF_CLOSED;
    shutdown(peer->fd, SHUT_WR);
    wait_for(peer, EPOLLRDHUP);
}

/* ---- reading */

/* How much may be read. */
typedef struct {
    guint n_messages;
    gsize n_bytes;
} Budget;

static gboolean
has_enough_to_say(const Outbox *outbox)
{
    return outbox->instead == NULL &&
           (outbox_is_backed_up(outbox) || outbox->n_bytes > ANSWER_BYTES_PER_TURN);
}

/* Lets sd-bus take a step, which may be to read a message of that length: NEXT_MESSAGE, or why
 * there is no other. */
static Next
take_step(Peer *peer, gsize length)
{
    Client *client = peer->link.client;
    const sd_bus_slot *ping =
        peer->link.confirm.ping; /* its answer is not seen by on_any_message() */

    peer->has_message = FALSE;
    if (sd_bus_process(peer->link.bus, NULL) < 0)
        return NEXT_BAD;
    if (ping != peer->link.confirm.ping)
        peer->has_message = TRUE;
    if (peer->has_message)
        client->n_socket_bytes += length;
    return is_open(peer) && sd_bus_is_open(peer->link.bus) > 0 ? NEXT_MESSAGE : NEXT_END;
}

/* Lets sd-bus read a message; if it only writes, `*length` becomes 0. What is none it drops, and
 * begins to read the next, however long. */
static Next
read_message(Peer *peer, gsize *length)
{
    Next next = take_step(peer, *length);

    if (next != NEXT_MESSAGE || peer->has_message)
        return next;
    *length = 0;
    return peer->link.outbox.instead != NULL ? NEXT_MESSAGE : NEXT_BAD;
}

/* As much as there is left of both, while the client reads the answers, and up to where a call by
 * the bus comes in. What was next when it stopped. */
static Next
process(Peer *peer, Budget *left)
{
    const Client *client = peer->link.client;
    gsize length = 0, n_bytes = 1;
    Next next = NEXT_MESSAGE;

    for (guint n = 0; left->n_messages > 0 && left->n_bytes > 0 && length < n_bytes; n++) {
        if ((clients_has_due(client) && !bus_is_backed_up(client->edge)) ||
            (n > 0 && has_enough_to_say(&peer->link.outbox)))
            break;
        next = look_ahead(peer->fd, &length, &n_bytes);
        if (next != NEXT_MESSAGE)
            break;
        left->n_messages--;
        next = read_message(peer, &length);
        if (next != NEXT_MESSAGE)
            break;
        left->n_bytes -= MIN(left->n_bytes, length);
    }
    return next;
}

/* A step of sd-bus is to write whole messages, if it can, and else to read one. When nothing of
 * either is seen it has dropped one, or there was nothing to do. */
static Next
write_on(Peer *peer)
{
    gsize length = 0, n_bytes;
    guint64 n_queued = outbox_count_queued(&peer->link.outbox);
    Next next = look_ahead(peer->fd, &length, &n_bytes);
    gboolean may_read = next == NEXT_MESSAGE;

    if (!may_read && next != NEXT_NOTHING)
        return next;
    next = take_step(peer, length);
    if (next == NEXT_MESSAGE && may_read && !peer->has_message &&
        outbox_count_queued(&peer->link.outbox) == n_queued)
        return NEXT_BAD;
    if (next == NEXT_MESSAGE)
        outbox_flush(&peer->link.outbox);
    return next;
}

static void
wait_for_rest(Peer *peer)
{
    wait_for(peer, EPOLLIN | EPOLLRDHUP | EPOLLET);
    if (peer->timer_id == 0)
        peer->timer_id = g_timeout_add_seconds(PATIENCE_SECS, on_timeout, peer);
}

static void
serve_open(Peer *peer, Budget *left)
{
    Next next = NEXT_END;

    /* Since something was sent, it may have ended. */
    if (sd_bus_is_open(peer->link.bus) > 0)
        next = outbox_is_backed_up(&peer->link.outbox) && peer->link.outbox.instead == NULL
                   ? write_on(peer)
                   : process(peer, left);
    if (!is_open(peer))
        return;
    /* An empty socket tells it too: sd-bus may have dropped a message that was none, and read the
     * one behind it, and then fewer bytes are counted than were read. */
    if (next == NEXT_NOTHING || next == NEXT_PART ||
        (is_awaited(peer->link.client) && look_for_bytes(peer->fd) == 0))
        make_all_due(peer->link.client);
    else
        peers_notice_due(peer->link.client);
    if (next == NEXT_PART && !look_for_end(peer->fd)) {
        wait_for_rest(peer);
        return;
    }
    g_clear_handle_id(&peer->timer_id, g_source_remove);
    if (next == NEXT_BAD) {
        g_debug("%s: a message that is too long, or none", peer->link.client->unique_name);
        close_peer(peer);
    } else if (next == NEXT_END || next == NEXT_PART) {
        read_last_words(peer);
        close_peer(peer);
    } else {
        wait_for_next(peer);
    }
}

static gboolean
on_heard_timer(gpointer data)
{
    Peer *peer = data;

    peer->heard_id = 0;
    wait_for(peer, EPOLLOUT); /* which is there at once */
    return G_SOURCE_REMOVE;
}

/* Nobody tells that a client has read. One that already sends messages is none of those that must
 * not get any with the answers; and if none will be sent, it doesn't matter. */
static gboolean
may_begin(Peer *peer)
{
    if (handshake_is_heard(peer->fd) || look_for_bytes(peer->fd) > 0 ||
        peer->link.outbox.instead != NULL)
        return TRUE;
    wait_for(peer, 0);
    if (peer->heard_id == 0)
        peer->heard_id = g_timeout_add(HEARD_MS, on_heard_timer, peer);
    return FALSE;
}

/* FALSE: the socket is closed. */
static gboolean
begin(Peer *peer)
{
    g_clear_handle_id(&peer->timer_id, g_source_remove);
    g_clear_handle_id(&peer->heard_id, g_source_remove);
    handshake_clear(&peer->handshake);
    if (!handshake_move_bus(peer->link.bus, peer->fd)) {
        close_peer(peer);
        return FALSE;
    }
    peer->state = PEER_OPEN;
    peer->link.outbox.n_queued_max = 1;
    outbox_flush(&peer->link.outbox);
    return TRUE;
}

/* Reads and serves; the socket may be closed afterwards. */
static void
serve(Peer *peer, Budget left)
{
    HandshakeResult result;

    if (peer->state == PEER_HANDSHAKE) {
        result = handshake_go_on(&peer->handshake, peer->fd);
        if (result == HANDSHAKE_FAILED)
            close_peer(peer);
        else if (result == HANDSHAKE_DONE && may_begin(peer) && begin(peer))
            serve_open(peer, &left);
    } else if (peer->state == PEER_OPEN) {
        serve_open(peer, &left);
    } else if (peer->state == PEER_HALF_CLOSED) {
        read_last_words(peer);
        close_peer(peer);
    }
}

/* ---- writing */

/* Not at all, while a call by the bus waits for the socket. */
static gboolean
is_too_far_behind(const Peer *peer)
{
    const Outbox *outbox = &peer->link.outbox;

    if (outbox_is_backed_up(outbox) && is_awaited(peer->link.client))
        return TRUE;
    return outbox->n_bytes > UNREAD_BYTES_MAX || outbox_get_length(outbox) > UNREAD_MESSAGES_MAX ||
           outbox_count_queued(outbox) > UNREAD_ANSWERS_MAX;
}

/* In the middle of sending: only takes note. */
static void
on_flushed(Outbox *outbox)
{
    Peer *peer = (Peer *)((char *)outbox - G_STRUCT_OFFSET(Peer, link.outbox));

    charge_unread(peer, outbox->instead == NULL ? outbox_count_unread(outbox) : 0);
    if (!is_open(peer))
        return;
    if (sd_bus_is_open(peer->link.bus) <= 0) {
        wait_for(peer, EPOLLOUT); /* of which there will be news at once */
        return;
    }
    wait_for_next(peer);
    if (peer->is_stuck || !is_too_far_behind(peer))
        return;
    peer->is_stuck = TRUE;
    g_queue_push_tail(&get_peers(peer)->stuck, peer);
    g_source_set_ready_time(&get_peers(peer)->source, 0);
}

/* ---- all sockets */

static void
end_stuck(Peers *peers)
{
    Peer *peer;

    while ((peer = g_queue_pop_head(&peers->stuck)) != NULL) {
        peer->is_stuck = FALSE;
        half_close(peer);
        if (is_awaited(peer->link.client))
            serve(peer, (Budget){0, 0});
    }
}

/* Messages for each of so many. */
static guint
get_share(guint n)
{
    return n <= 1 ? MESSAGES_OF_ONE_ONLY : MAX(MESSAGES_PER_TURN / n, 1);
}

static void
serve_due(Peers *peers)
{
    guint n_clients = MIN(peers->due.length, SOCKETS_PER_TURN);
    guint n_calls = get_share(n_clients);

    if (n_clients > 0 && bus_is_backed_up(peers->edge)) {
        g_source_set_ready_time(&peers->source, g_get_monotonic_time() + BUS_RETRY_US);
        return;
    }
    for (; n_clients > 0 && !edge_has_said_enough(peers->edge); n_clients--) {
        Client *client = g_queue_pop_head(&peers->due);
        guint n = n_calls;

        client->is_due = FALSE;
        while (n > 0 && !edge_has_said_enough(peers->edge) && clients_serve_due(client))
            n--;
        peers_notice_due(client);
    }
    if (!g_queue_is_empty(&peers->due))
        g_source_set_ready_time(&peers->source, 0);
}

static void
serve_ready(Peers *peers)
{
    struct epoll_event events[SOCKETS_PER_TURN];
    int n = epoll_wait(peers->epoll_fd, events, SOCKETS_PER_TURN, 0);

    for (int i = 0; i < n; i++) {
        serve(events[i].data.ptr, (Budget){get_share((guint)n), G_MAXSIZE});
        if (edge_has_said_enough(peers->edge))
            edge_end_turn(peers->edge);
    }
}

static gboolean
peers_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    Peers *peers = (Peers *)source;

    g_source_set_ready_time(source, -1);
    g_queue_clear_full(&peers->closed, g_free);
    end_stuck(peers);
    serve_due(peers);
    serve_ready(peers);
    edge_end_turn(peers->edge);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs peers_funcs = {.dispatch = peers_dispatch};

Peers *
peers_new(Edge *edge, const PeersServe *serve)
{
    Peers *peers = (Peers *)g_source_new(&peers_funcs, sizeof(Peers));

    peers->edge = edge;
    peers->serve = serve;
    g_queue_init(&peers->due);
    g_queue_init(&peers->stuck);
    g_queue_init(&peers->closed);
    peers->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (peers->epoll_fd < 0 || sd_id128_randomize(&peers->server_id) < 0)
        g_error("No private sockets: %s", g_strerror(errno));
    g_source_set_static_name(&peers->source, "private sockets");
    g_source_add_unix_fd(&peers->source, peers->epoll_fd, G_IO_IN);
    /* It doesn't; but GLib would take the fd out of the poll set and put it back each time. */
    g_source_set_can_recurse(&peers->source, TRUE);
    g_source_attach(&peers->source, NULL);
    return peers;
}

void
peers_free(Peers *peers)
{
    g_assert(g_queue_is_empty(&peers->due) && g_queue_is_empty(&peers->stuck));
    g_queue_clear_full(&peers->closed, g_free);
    close(peers->epoll_fd);
    g_source_destroy(&peers->source);
    g_source_unref(&peers->source);
}

/* ---- one client's */

/* Takes the descriptor. */
static gboolean
start_peer(Peer *peer, int fd)
{
    const int kernel_bytes = KERNEL_BYTES_MAX;
    int other_fd;

    peer->fd = fd;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kernel_bytes, sizeof kernel_bytes) < 0 ||
        !make_bus(peer, &other_fd)) {
        close(fd);
        return FALSE;
    }
    close(other_fd);
    if (!add_to_epoll(peer, EPOLLIN)) {
        close_bus(peer);
        close(fd);
        return FALSE;
    }
    /* Before the handshake it takes messages and keeps them. */
    outbox_init(&peer->link.outbox, peer->link.bus, 0, &peer->link.edge->turn);
    peer->link.outbox.flushed = on_flushed;
    return TRUE;
}

int
peers_open(Client *client, int *out_fd, LimitId *out_limit)
{
    LimitsAccount *account = get_account(client);
    Peer *peer;
    int fds[2];

    peers_close(client);
    if (!limits_admit(&client->edge->user_agent.limits, account, CHARGE_PRIVATE_SOCKET, 1,
                      out_limit))
        return -EDQUOT;
    if (descriptors_are_scarce(DESCRIPTORS_FOR_SOCKETS))
        return -EMFILE;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return -errno;
    peer = g_new0(Peer, 1);
    peer->link.edge = client->edge;
    peer->link.client = client;
    confirm_init(&peer->link.confirm, client, &peer->link);
    if (!start_peer(peer, fds[0])) {
        g_free(peer);
        close(fds[1]);
        return -EMFILE;
    }
    handshake_init(&peer->handshake, client->agent->principal->identity.uid,
                   client->edge->peers->server_id);
    limits_charge(account, CHARGE_PRIVATE_SOCKET, 1);
    peer->timer_id = g_timeout_add_seconds(PATIENCE_SECS, on_timeout, peer);
    *out_fd = fds[1];
    client->link = &peer->link;
    client->peer = peer;
    return 0;
}

guint64
peers_get_position(Client *client)
{
    Peer *peer = client->peer;
    gsize length, n_bytes;
    Next next;

    if (peer != NULL && peer->state == PEER_HANDSHAKE)
        serve(peer, (Budget){0, 0});
    if (peer == NULL || peer->state == PEER_CLOSED)
        return client->n_socket_bytes;
    if (peer->state == PEER_HANDSHAKE) { /* the answer to the call must not overtake them */
        outbox_move_signals(&peer->link.outbox, &client->edge->bus_link.outbox);
        return client->n_socket_bytes;
    }
    next = look_ahead(peer->fd, &length, &n_bytes);
    if (peer->state == PEER_OPEN && (next == NEXT_NOTHING || next == NEXT_PART))
        return client->n_socket_bytes;
    if (peer->state == PEER_OPEN && outbox_is_backed_up(&peer->link.outbox))
        half_close(peer);
    if (peer->state == PEER_HALF_CLOSED)
        serve(peer, (Budget){0, 0});
    return client->n_socket_bytes + (is_open(peer) ? look_for_bytes(peer->fd) : 0);
}

void
peers_serve_deferred(Client *client)
{
    while (!g_queue_is_empty(&client->deferred)) {
        Peer *peer = client->peer;

        if (clients_serve_due(client))
            continue;
        if (confirm_is_full(client))
            return;
        g_assert(peer != NULL); /* what else would it wait for */
        if (outbox_is_backed_up(&peer->link.outbox) && peer->link.outbox.instead == NULL)
            half_close(peer);
        serve(peer, (Budget){G_MAXUINT, MAX(look_for_bytes(peer->fd), 1)});
        if (has_enough_to_say(&peer->link.outbox))
            edge_end_turn(client->edge);
    }
}

void
peers_read_last(Client *client)
{
    if (client->agent == NULL)
        return; /* its calls wait for that */
    client->is_gone = TRUE;
    confirm_waive(client);
    if (client->peer != NULL)
        outbox_give_up(&client->peer->link.outbox, &client->edge->bus_link.outbox);
    peers_serve_deferred(client);
    if (client->peer == NULL)
        return;
    outbox_give_up(&client->peer->link.outbox, &client->edge->bus_link.outbox);
    serve(client->peer, (Budget){G_MAXUINT, look_for_bytes(client->peer->fd)});
    peers_close(client);
}

gsize
peers_count_unread(const Client *client)
{
    return client->peer != NULL ? client->peer->n_unread : 0;
}

void
peers_close(Client *client)
{
    if (client->peer != NULL)
        close_peer(client->peer);
}

void
peers_remove_client(Client *client)
{
    peers_close(client);
    if (client->is_due)
        g_queue_remove(&client->edge->peers->due, client);
    client->is_due = FALSE;
}
