/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/peers.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/bus/descriptors.h"
#include "service/bus/interfaces.h"
#include "service/bus/last-words.h"
#include "service/bus/watchers.h"
#include "service/core/limits.h"
#include "service/core/principal.h"

/* Sockets that are served in one turn, and messages that they have in it together: few enough that
 * nobody waits long, enough that a burst of one client is one turn. */
#define SOCKETS_PER_TURN  64
#define MESSAGES_PER_TURN 32

/* What one client may have in its socket when it ends: a socket holds less. */
#define MESSAGES_AT_END 65536

/* The kernel doubles it. sd-bus asks for 8 MiB, for each client that doesn't read. */
#define KERNEL_BYTES_MAX (128 * 1024)

/* A message's first 16 bytes tell how long it is. */
#define HEADER_BYTES      16
#define MESSAGE_BYTES_MAX (64 * 1024)

#define HANDSHAKE_BYTES_MAX (16 * 1024)
#define HANDSHAKE_SECS      5

/* What a client may leave unread, besides the message that is on its way. */
#define UNREAD_BYTES_MAX    (1024 * 1024)
#define UNREAD_MESSAGES_MAX 4096

struct Peers {
    GSource source;
    Edge *edge;
    int epoll_fd;
    sd_id128_t server_id;
    GQueue stuck;  /* of Peer: to be half closed */
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

/* `link` is the first thing in it. */
struct Peer {
    Link link;
    PeerState state;
    int fd;         /* ours once it is half closed, else sd-bus's */
    guint32 events; /* what epoll waits for */
    gsize n_bytes;  /* of the handshake, or of a message that isn't complete */
    guint timer_id; /* ends the handshake */
    gboolean is_stuck;
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
    int events;

    if (peer->state == PEER_OPEN) {
        wait_for(peer, outbox_is_backed_up(&peer->link.outbox) ? EPOLLOUT : EPOLLIN);
    } else if (peer->state == PEER_HANDSHAKE) {
        events = sd_bus_get_events(peer->link.bus);
        wait_for(peer, (events & EPOLLOUT ? EPOLLOUT : 0) | (events & EPOLLIN ? EPOLLIN : 0));
    }
}

static gboolean
add_to_epoll(Peer *peer, guint32 events)
{
    struct epoll_event event = {.events = events, .data.ptr = peer};

    peer->events = events;
    return epoll_ctl(get_peers(peer)->epoll_fd, EPOLL_CTL_ADD, peer->fd, &event) == 0;
}

/* ---- the end of a socket */

static void
close_bus(Peer *peer)
{
    sd_bus_close(peer->link.bus);
    g_clear_pointer(&peer->link.bus, sd_bus_unref);
}

/* What the client has not been told goes by the bus. The peer itself lives until the next turn. */
static void
close_peer(Peer *peer)
{
    Client *client = peer->link.client;
    Edge *edge = peer->link.edge;
    Peers *peers = edge->peers;

    if (peer->state == PEER_CLOSED)
        return;
    outbox_give_up(&peer->link.outbox, &edge->bus_link.outbox);
    outbox_fini(&peer->link.outbox);
    g_clear_handle_id(&peer->timer_id, g_source_remove);
    if (peer->state == PEER_HALF_CLOSED)
        close(peer->fd);
    if (peer->link.bus != NULL)
        close_bus(peer);
    peer->state = PEER_CLOSED;

    client->peer = NULL;
    if (client->link == &peer->link) {
        client->link = &edge->bus_link;
        watchers_link_closed(client);
    }
    get_account(client)->n_private_sockets--;
    if (peer->is_stuck)
        g_queue_remove(&peers->stuck, peer);
    g_queue_push_tail(&peers->closed, peer);
    g_source_set_ready_time(&peers->source, 0);
}

/* ---- sd-bus on it */

static int
on_any_message(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
    const Link *link = userdata;

    edge_before_message(link->edge, message);
    return sd_bus_message_is_signal(message, NULL, NULL) > 0; /* nobody listens to them here */
}

/* Takes the bus, also on failure. */
static int
start_bus(Peer *peer, sd_bus *bus, gboolean anonymous)
{
    int r;

    peer->link.bus = bus;
    if ((r = sd_bus_set_server(bus, TRUE, get_peers(peer)->server_id)) < 0 ||
        (r = sd_bus_set_anonymous(bus, anonymous)) < 0 ||
        (r = sd_bus_negotiate_fds(bus, FALSE)) < 0 ||
        (r = sd_bus_add_filter(bus, NULL, on_any_message, &peer->link)) < 0 ||
        (r = interfaces_export(&peer->link)) < 0)
        return r;
    return sd_bus_start(bus);
}

/* ---- reading */

/* Whether this is the beginning of a message that is too long. Only if it surely is the beginning
 * of a message: after a handshake sd-bus may have read part of one. */
static gboolean
announces_too_much(const guint8 *header)
{
    guint32 body, fields;

    if ((header[0] != 'l' && header[0] != 'B') || header[1] < 1 || header[1] > 4 || header[3] != 1)
        return FALSE;
    memcpy(&body, header + 4, sizeof body);
    memcpy(&fields, header + 12, sizeof fields);
    body = header[0] == 'l' ? GUINT32_FROM_LE(body) : GUINT32_FROM_BE(body);
    fields = header[0] == 'l' ? GUINT32_FROM_LE(fields) : GUINT32_FROM_BE(fields);
    return (guint64)body + fields + HEADER_BYTES > MESSAGE_BYTES_MAX;
}

/* How many bytes there are to read; negative if they begin a message that is too long. */
static gssize
look_ahead(const Peer *peer)
{
    guint8 bytes[512];
    ssize_t n = recv(peer->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    int n_all = 0;

    if (n >= HEADER_BYTES && peer->state == PEER_OPEN && peer->n_bytes == 0 &&
        announces_too_much(bytes))
        return -1;
    if (n == sizeof bytes && ioctl(peer->fd, SIOCINQ, &n_all) == 0)
        return n_all;
    return MAX(n, 0);
}

static gboolean
is_open(const Peer *peer)
{
    return peer->state == PEER_HANDSHAKE || peer->state == PEER_OPEN;
}

/* As much as a handshake or a message may have; the rest comes when it is complete. */
static gboolean
has_read_too_much(const Peer *peer)
{
    return peer->n_bytes > (peer->state == PEER_OPEN ? MESSAGE_BYTES_MAX : HANDSHAKE_BYTES_MAX);
}

static void
note_handshake(Peer *peer)
{
    if (peer->state != PEER_HANDSHAKE || sd_bus_is_ready(peer->link.bus) <= 0)
        return;
    peer->state = PEER_OPEN;
    peer->n_bytes = 0;
    g_clear_handle_id(&peer->timer_id, g_source_remove);
}

/* Up to `n_max` messages; all, in a handshake. What sd-bus says at last. */
static int
process(Peer *peer, guint n_max)
{
    gboolean is_complete = FALSE;
    guint n = 0;
    int r;

    do {
        gboolean is_writing = outbox_is_backed_up(&peer->link.outbox);

        if (n > 0 && is_writing && peer->link.outbox.instead == NULL)
            return 1;
        r = sd_bus_process(peer->link.bus, NULL);
        if (!is_open(peer) || sd_bus_is_open(peer->link.bus) <= 0)
            return r; /* sd-bus has not closed the descriptor yet: it would in the next step */
        if (r > 0 && peer->state == PEER_OPEN && !is_writing)
            is_complete = TRUE;
        note_handshake(peer);
    } while (r > 0 && (++n < n_max || peer->state == PEER_HANDSHAKE));
    if (is_complete)
        peer->n_bytes = 0;
    return r;
}

/* sd-bus gave it up, perhaps with something still to read. Nobody hears the answers. */
static void
read_last_words(Peer *peer)
{
    sd_bus *bus = peer->n_bytes == 0 ? last_words_new(peer->fd) : NULL;
    guint n_left = MESSAGES_AT_END;

    if (bus == NULL)
        return;
    outbox_give_up(&peer->link.outbox, &peer->link.edge->bus_link.outbox);
    if (peer->link.bus != NULL)
        close_bus(peer);
    if (start_bus(peer, bus, TRUE) >= 0)
        while (n_left-- > 0 && peer->state != PEER_CLOSED && sd_bus_process(bus, NULL) > 0)
            ;
}

/* Reads and serves; the socket may be closed afterwards. */
static void
serve(Peer *peer, guint n_max)
{
    gssize n_there;
    int r;

    if (peer->state == PEER_CLOSED)
        return;
    if (peer->state == PEER_HALF_CLOSED) {
        read_last_words(peer);
        close_peer(peer);
        return;
    }
    if (sd_bus_is_open(peer->link.bus) <= 0) { /* since something was sent */
        read_last_words(peer);
        close_peer(peer);
        return;
    }
    n_there = look_ahead(peer);
    if (n_there < 0) {
        g_debug("%s: a message that is too long", peer->link.client->unique_name);
        close_peer(peer);
        return;
    }
    peer->n_bytes += (gsize)n_there;
    r = process(peer, n_max);
    if (!is_open(peer))
        return;
    if (sd_bus_has_ended(peer->link.bus, r)) {
        if (peer->state == PEER_OPEN)
            read_last_words(peer);
        close_peer(peer);
    } else if (has_read_too_much(peer)) {
        g_debug("%s: no end of a message", peer->link.client->unique_name);
        close_peer(peer);
    } else {
        wait_for_next(peer);
    }
}

static gboolean
on_handshake_timeout(gpointer data)
{
    Peer *peer = data;

    peer->timer_id = 0;
    close_peer(peer);
    edge_end_turn(peer->link.edge);
    return G_SOURCE_REMOVE;
}

/* ---- writing */

/* In the middle of sending: only takes note. */
static void
on_flushed(Outbox *outbox)
{
    Peer *peer = (Peer *)((char *)outbox - G_STRUCT_OFFSET(Peer, link.outbox));

    if (!is_open(peer))
        return;
    wait_for_next(peer);
    if (outbox->n_bytes <= UNREAD_BYTES_MAX && outbox_get_length(outbox) <= UNREAD_MESSAGES_MAX)
        return;
    if (peer->is_stuck)
        return;
    peer->is_stuck = TRUE;
    g_queue_push_tail(&get_peers(peer)->stuck, peer);
    g_source_set_ready_time(&get_peers(peer)->source, 0);
}

/* The client can read what it has been sent, and then the end; and it can write until it does. */
static void
half_close(Peer *peer)
{
    int fd = fcntl(peer->fd, F_DUPFD_CLOEXEC, 0);

    g_debug("%s doesn't read its private socket", peer->link.client->unique_name);
    if (fd < 0) {
        close_peer(peer);
        return;
    }
    outbox_give_up(&peer->link.outbox, &peer->link.edge->bus_link.outbox);
    epoll_ctl(get_peers(peer)->epoll_fd, EPOLL_CTL_DEL, peer->fd, NULL);
    close_bus(peer);
    g_clear_handle_id(&peer->timer_id, g_source_remove);
    peer->fd = fd;
    peer->state = PEER_HALF_CLOSED;
    shutdown(fd, SHUT_WR);
    if (!add_to_epoll(peer, EPOLLRDHUP))
        close_peer(peer);
}

/* ---- all sockets */

static void
serve_ready(Peers *peers)
{
    struct epoll_event events[SOCKETS_PER_TURN];
    int n = epoll_wait(peers->epoll_fd, events, SOCKETS_PER_TURN, 0);

    for (int i = 0; i < n; i++)
        serve(events[i].data.ptr, MAX(MESSAGES_PER_TURN / (guint)n, 1));
}

static gboolean
peers_dispatch(GSource *source, GSourceFunc callback, gpointer user_data)
{
    Peers *peers = (Peers *)source;
    Peer *peer;

    g_source_set_ready_time(source, -1);
    g_queue_clear_full(&peers->closed, g_free);
    while ((peer = g_queue_pop_head(&peers->stuck)) != NULL) {
        peer->is_stuck = FALSE;
        half_close(peer);
    }
    serve_ready(peers);
    edge_end_turn(peers->edge);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs peers_funcs = {.dispatch = peers_dispatch};

Peers *
peers_new(Edge *edge)
{
    Peers *peers = (Peers *)g_source_new(&peers_funcs, sizeof(Peers));

    peers->edge = edge;
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
    g_assert(g_queue_is_empty(&peers->stuck));
    g_queue_clear_full(&peers->closed, g_free);
    close(peers->epoll_fd);
    g_source_destroy(&peers->source);
    g_source_unref(&peers->source);
}

/* ---- one client's */

/* Takes the descriptor. */
static int
start_peer(Peer *peer, int fd)
{
    const int kernel_bytes = KERNEL_BYTES_MAX;
    sd_bus *bus = NULL;
    int r;

    if ((r = sd_bus_new(&bus)) < 0 || (r = sd_bus_set_fd(bus, fd, fd)) < 0) {
        sd_bus_unref(bus);
        close(fd);
        return r;
    }
    peer->fd = fd;
    outbox_init(&peer->link.outbox, bus, 1, &peer->link.edge->outboxes);
    peer->link.outbox.flushed = on_flushed;
    r = start_bus(peer, bus, FALSE);
    if (r >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kernel_bytes, sizeof kernel_bytes) < 0)
        r = -errno;
    if (r >= 0 && !add_to_epoll(peer, EPOLLIN))
        r = -errno;
    if (r < 0) {
        outbox_fini(&peer->link.outbox);
        close_bus(peer);
    }
    return r;
}

int
peers_open(Client *client, int *out_fd)
{
    const Limits *limits = &client->edge->user_agent.limits;
    LimitsAccount *account = get_account(client);
    g_autofree Peer *peer = g_new0(Peer, 1);
    int fds[2];
    int r;

    peers_read_to_end(client);
    peers_close(client);
    if (account->n_private_sockets >= limits->max[LIMIT_PRIVATE_SOCKETS_PER_UID])
        return -EDQUOT;
    if (descriptors_are_scarce())
        return -EMFILE;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return -errno;
    peer->link.edge = client->edge;
    peer->link.client = client;
    r = start_peer(peer, fds[0]);
    if (r < 0) {
        close(fds[1]);
        return r;
    }
    account->n_private_sockets++;
    peer->timer_id = g_timeout_add_seconds(HANDSHAKE_SECS, on_handshake_timeout, peer);
    *out_fd = fds[1];
    client->link = &peer->link;
    client->peer = g_steal_pointer(&peer);
    return 0;
}

void
peers_read_to_end(Client *client)
{
    if (client->peer != NULL)
        serve(client->peer, MESSAGES_AT_END);
}

void
peers_read_last(Client *client)
{
    Peer *peer = client->peer;

    if (peer == NULL)
        return;
    outbox_give_up(&peer->link.outbox, &peer->link.edge->bus_link.outbox);
    serve(peer, MESSAGES_AT_END);
    close_peer(peer);
}

void
peers_close(Client *client)
{
    if (client->peer != NULL)
        close_peer(client->peer);
}
