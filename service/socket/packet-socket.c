/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "packet-socket.h"

#include <errno.h>
#include <glib-unix.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus-names.h"
#include "bus-string.h"
#include "lock-manager.h"
#include "wanted.h"

/* The send buffer of the service's end, which the kernel doubles. It bounds the kernel memory for a
 * client that does not read. */
#define KERNEL_BYTES 32768
/* The send buffer when the socket is closed: more than all output that can be waiting, and not more
 * than any system allows. */
#define LAST_KERNEL_BYTES 212992
/* The largest packet that is sent. It has to fit into the buffer with the kernel's overhead. */
#define SENT_BYTES_MAX 32768UL

/* The kernel counts more for each packet that is not read; and, until it has called those that wait
 * for that, a byte for one that has been. */
#define UNREAD_BYTES_MIN 64

#define EVENTS_MAX 64

/* Entries per LIVE message, whose size is then 16 KiB. */
#define LIVE_ENTRIES_MAX 682u

struct PacketSocket {
    TurnOutput output;
    PacketSockets *all; /* borrowed */
    Client *client;     /* borrowed */
    int fd;
    guint32 events;      /* for epoll */
    guint64 position;    /* number of bytes received */
    guint64 end;         /* the position after which nothing is read */
    gboolean is_blocked; /* the kernel has not accepted all of `out` */
    gboolean is_muted;
    gboolean has_wanted;  /* WANTED was sent, and the client may not have read it */
    gboolean awaits_read; /* its client has to be runnable when it has read everything */
    GByteArray *out;
    gsize out_offset;
    void *rest;         /* owned copy of the current packet if it is not in the shared buffer */
    const void *packet; /* the current packet, in `rest` or the shared buffer; NULL: none */
    gsize packet_size;
    gsize packet_offset;  /* of the next message */
    GList in_to_visit;    /* the socket has to be served without an event from epoll */
    Cell *cells;          /* borrowed; NULL: requests can have none */
    LockManager *manager; /* a reference: see packet_socket_get_manager(); NULL: none */
};

/* ---- what the client has read */

/* Whether the client has read everything that it was sent. */
static gboolean
is_read(const PacketSocket *self)
{
    int n_bytes = 0;

    return self->out->len == 0 && ioctl(self->fd, SIOCOUTQ, &n_bytes) == 0 &&
           n_bytes < UNREAD_BYTES_MIN;
}

/* Edge-triggered: the kernel reports a socket when the client has read a packet of it. */
static void
await_read(PacketSocket *self)
{
    struct epoll_event event = {.events = EPOLLOUT | EPOLLET, .data.ptr = self};

    if (!self->awaits_read)
        self->awaits_read = epoll_ctl(self->all->read_fd, EPOLL_CTL_ADD, self->fd, &event) == 0;
}

static gboolean
on_read(int fd, GIOCondition condition, gpointer data)
{
    struct epoll_event events[EVENTS_MAX];
    int n_events = epoll_wait(fd, events, EVENTS_MAX, 0);

    for (int i = 0; i < n_events; i++) {
        PacketSocket *self = events[i].data.ptr;

        if (!is_read(self))
            continue;
        epoll_ctl(fd, EPOLL_CTL_DEL, self->fd, NULL);
        self->awaits_read = FALSE;
        turn_make_runnable(self->output.turn, self->client);
    }
    return G_SOURCE_CONTINUE;
}

/* ---- all sockets */

PacketSockets *
packet_sockets_new(Server *server)
{
    PacketSockets *self = g_new0(PacketSockets, 1);

    self->server = server;
    self->texts = g_string_new(NULL);
    g_queue_init(&self->to_visit);
    self->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    self->read_fd = epoll_create1(EPOLL_CLOEXEC);
    if (self->epoll_fd < 0 || self->read_fd < 0)
        g_error("could not create an epoll instance: %s", g_strerror(errno));
    self->read_id = g_unix_fd_add(self->read_fd, G_IO_IN, on_read, self);
    return self;
}

void
packet_sockets_free(PacketSockets *self)
{
    g_assert(g_queue_is_empty(&self->to_visit));
    g_source_remove(self->read_id);
    close(self->read_fd);
    close(self->epoll_fd);
    g_string_free(self->texts, TRUE);
    g_free(self);
}

/* ---- sending */

static void
wait_for(PacketSocket *self, guint32 events)
{
    struct epoll_event event = {.events = events, .data.ptr = self};

    if (self->events == events)
        return;
    self->events = events;
    epoll_ctl(self->all->epoll_fd, EPOLL_CTL_MOD, self->fd, &event);
}

static void
visit(PacketSocket *self)
{
    if (self->in_to_visit.data != NULL)
        return;
    self->in_to_visit.data = self;
    g_queue_push_tail_link(&self->all->to_visit, &self->in_to_visit);
}

static void
do_not_visit(PacketSocket *self)
{
    if (self->in_to_visit.data != NULL)
        g_queue_unlink(&self->all->to_visit, &self->in_to_visit);
    self->in_to_visit.data = NULL;
}

static void
drop_output(PacketSocket *self)
{
    g_byte_array_set_size(self->out, 0);
    self->out_offset = 0;
    self->is_blocked = FALSE;
}

/* Sends as much of `out` as the kernel accepts. */
static void
flush(TurnOutput *output)
{
    PacketSocket *self = (PacketSocket *)output;
    const gboolean was_blocked = self->is_blocked;

    while (self->out_offset < self->out->len) {
        gsize length = packet_get_length(self->out, self->out_offset, SENT_BYTES_MAX);
        ssize_t n =
            send(self->fd, self->out->data + self->out_offset, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)) {
            self->is_blocked = TRUE;
            do_not_visit(self);
            wait_for(self, EPOLLOUT);
            return;
        }
        if (n < 0) { /* the client has closed its end; packets that it sent can still be read */
            self->is_muted = TRUE;
            visit(self);
            break;
        }
        self->out_offset += length;
    }
    drop_output(self);
    wait_for(self, EPOLLIN);
    if (!was_blocked)
        return;
    /* What was not done meanwhile is done now. */
    if (self->rest != NULL)
        visit(self);
    turn_make_runnable(output->turn, self->client);
}

/* ---- encoding */

/* The errors of results below LOCK_RESULT_LIMIT; an ANSWER never waits for a decision of a cluster.
 */
static const PacketError errors[LOCK_RESULT_LIMIT] = {
    [LOCK_RESULT_OK] = PACKET_ERROR_NONE,
    [LOCK_RESULT_UNAVAILABLE] = PACKET_ERROR_NONE,
    [LOCK_RESULT_SHUTTING_DOWN] = PACKET_ERROR_INVALID_STATE,
    [LOCK_RESULT_UNIDENTIFIED] = PACKET_ERROR_INVALID_STATE,
    [LOCK_RESULT_NO_LOOKUP] = PACKET_ERROR_LIMITS_EXCEEDED,
    [LOCK_RESULT_NOT_CARRIABLE] = PACKET_ERROR_INVALID_ARGS,
    [LOCK_RESULT_NO_PATH] = PACKET_ERROR_SECURITY,
    [LOCK_RESULT_NO_GROUP] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_OF_OTHERS] = PACKET_ERROR_SECURITY,
    [LOCK_RESULT_NOT_ROOT] = PACKET_ERROR_SECURITY,
    [LOCK_RESULT_NO_CLUSTER] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_NO_ACCESS] = PACKET_ERROR_SECURITY,
    [LOCK_RESULT_NO_SESSION] = PACKET_ERROR_SECURITY,
    [LOCK_RESULT_NO_DOCUMENTS] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_NOT_PROVED] = PACKET_ERROR_SECURITY,
    [LOCK_RESULT_NOT_LOCAL] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_NOT_NOW] = PACKET_ERROR_INVALID_STATE,
    [LOCK_RESULT_NO_HOST_NAME] = PACKET_ERROR_INVALID_ARGS,
    [LOCK_RESULT_NAME_RESERVED] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_STEAL_IF_AVAILABLE] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_STEAL_NOT_EXCLUSIVE] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_TIMEOUT_IF_AVAILABLE] = PACKET_ERROR_INVALID_ARGS,
    [LOCK_RESULT_SLOTS_NOT_EXCLUSIVE] = PACKET_ERROR_INVALID_ARGS,
    [LOCK_RESULT_SLOTS_IN_CLUSTER] = PACKET_ERROR_NOT_SUPPORTED,
    [LOCK_RESULT_KEY_MISMATCH] = PACKET_ERROR_INVALID_ARGS,
    [LOCK_RESULT_NOT_HELD] = PACKET_ERROR_NOT_HELD,
    [LOCK_RESULT_OTHER_HOLDERS] = PACKET_ERROR_INVALID_STATE,
    [LOCK_RESULT_UNREACHED] = PACKET_ERROR_INVALID_STATE,
    [LOCK_RESULT_NO_ROOM] = PACKET_ERROR_LIMITS_EXCEEDED,
};

static PacketState
get_state(const LockRequest *request)
{
    if (request == NULL)
        return PACKET_STATE_NONE;
    return request->state == LOCK_REQUEST_HELD ? PACKET_STATE_HELD : PACKET_STATE_WAITS;
}

static void
reply(Client *client, const LockCall *call, const LockReply *lock_reply)
{
    PacketSocket *self = client->socket;
    const LockRequest *request = lock_reply->request;
    const gboolean is_limit = lock_reply->result >= LOCK_RESULT_LIMIT;
    PacketAnswer answer = {
        .head.serial = call->serial,
        .error = is_limit ? PACKET_ERROR_LIMITS_EXCEEDED : errors[lock_reply->result],
        .limit = is_limit ? lock_reply->result - LOCK_RESULT_LIMIT + 1 : 0,
        .token = request != NULL ? request->token : 0,
        .state = (guint8)get_state(request),
        .aborted = lock_reply->aborted ? 1 : 0,
    };

    if (self == NULL || self->is_muted || !call->wants_reply)
        return;
    packet_write(self->out, PACKET_ANSWER, &answer.head, sizeof answer);
    turn_add_output(&self->output, sizeof answer);
}

static void
event(Client *client, const Effect *effect)
{
    static const PacketReason reasons[N_EFFECT_KINDS] = {
        [EFFECT_STOLEN] = PACKET_REASON_STOLEN,
        [EFFECT_TIMED_OUT] = PACKET_REASON_TIMEOUT,
        [EFFECT_TERMINATED] = PACKET_REASON_TERMINATED,
        [EFFECT_LOST] = PACKET_REASON_LOST,
        [EFFECT_UNAVAILABLE] = PACKET_REASON_UNAVAILABLE,
    };
    const LockRequest *request = effect->request;
    PacketSocket *self = client->socket;

    if (self->is_muted)
        return;
    if (effect->kind == EFFECT_GRANTED)
        PACKET_WRITE(self->out, PACKET_GRANTED, PacketGranted, .key = request->key,
                     .token = request->token);
    else
        PACKET_WRITE(self->out, PACKET_ENDED, PacketEnded, .key = request->key,
                     .reason = reasons[effect->kind]);
    turn_add_output(&self->output, sizeof(PacketEnded));
}

static void
wanted(Client *client, const LockRequest *request)
{
    PacketSocket *self = client->socket;

    packet_write_wanted(self->out, request->key, request->is_told_wanted);
    turn_add_output(&self->output, sizeof(PacketWanted));
    self->has_wanted = TRUE;
}

static gboolean
admits_wanted(Client *client)
{
    PacketSocket *self = client->socket;

    if (self->is_muted)
        return FALSE;
    if (self->has_wanted && is_read(self))
        self->has_wanted = FALSE;
    if (self->has_wanted)
        await_read(self);
    return !self->has_wanted;
}

/* Writes all live requests of the agent. */
static void
write_live(GByteArray *out, const Agent *agent, gint64 now_ms)
{
    PacketLiveEntry entries[LIVE_ENTRIES_MAX];
    guint n = 0;

    for (const GList *link = agent->requests.head; link != NULL; link = link->next) {
        LockRequest *request = link->data;
        const gint64 left_ms = CLAMP(request->deadline_ms - now_ms, 1, G_MAXUINT32);

        if (n == LIVE_ENTRIES_MAX) {
            packet_write_live(out, entries, n, TRUE);
            n = 0;
        }
        entries[n++] = (PacketLiveEntry){
            .key = request->key,
            .token = request->token,
            .time_left_ms = request->deadline_ms != 0 ? (guint32)left_ms : 0,
            .state = (guint8)get_state(request),
            .wanted = wanted_report(request) ? 1 : 0,
        };
    }
    packet_write_live(out, entries, n, FALSE);
}

static gboolean
is_writable(const Client *client)
{
    return client->socket == NULL || !client->socket->is_blocked;
}

const Channel socket_channel = {
    .reply = reply,
    .event = event,
    .wanted = wanted,
    .admits_wanted = admits_wanted,
    .is_writable = is_writable,
};

void
packet_socket_mute(Client *client)
{
    client->socket->is_muted = TRUE;
    turn_remove_output(&client->socket->output);
    drop_output(client->socket);
}

/* ---- waiting */

gboolean
packet_sockets_add_other_fd(PacketSockets *self, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(self->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void
packet_sockets_remove_other_fd(PacketSockets *self, int fd)
{
    epoll_ctl(self->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

guint
packet_sockets_wait(PacketSockets *self, Client **clients, guint max, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    GList *link = self->to_visit.head;
    guint n_clients = 0;
    int n_events;

    self->is_other_ready = FALSE;
    /* At most half of the entries, so that sockets with new events are served, too. */
    for (; link != NULL && n_clients < max / 2; link = link->next)
        clients[n_clients++] = ((PacketSocket *)link->data)->client;
    n_events = epoll_wait(self->epoll_fd, events, (int)MIN(max - n_clients, EVENTS_MAX),
                          n_clients > 0 ? 0 : timeout_ms);
    for (int i = 0; i < n_events; i++) {
        PacketSocket *socket = events[i].data.ptr;

        if (socket == NULL) {
            self->is_other_ready = TRUE;
            continue;
        }
        if (socket->is_blocked)
            turn_add_output(&socket->output,
                            0); /* `out` may have something that is not stored yet */
        else if (socket->in_to_visit.data == NULL)
            clients[n_clients++] = socket->client;
    }
    return n_clients;
}

/* ---- reading */

static void
forget_packet(PacketSocket *self)
{
    if (self->all->receiver == self)
        self->all->receiver = NULL;
    do_not_visit(self);
    g_clear_pointer(&self->rest, g_free);
    self->packet = NULL;
}

/* Receives the next packet into the shared buffer. Returns PACKET_READ_CALL if there was one. */
static PacketRead
receive(PacketSocket *self)
{
    PacketSockets *all = self->all;
    gboolean was_reset = FALSE;
    ssize_t n;

    g_assert(all->receiver == NULL);
    for (;;) {
        n = recv(self->fd, all->buffer, sizeof all->buffer, MSG_DONTWAIT | MSG_TRUNC);
        if (n >= 0)
            break;
        if (errno == EINTR)
            continue;
        /* ECONNRESET is reported once if the client has closed its end without reading all packets;
         * packets that it sent before can still be read. */
        if (errno == EAGAIN)
            return self->is_muted ? PACKET_READ_END : PACKET_READ_NOTHING;
        if (errno != ECONNRESET || was_reset)
            return PACKET_READ_END;
        was_reset = TRUE;
        self->is_muted = TRUE;
    }
    if (n == 0)
        return PACKET_READ_END;
    self->position += (gsize)n;
    if ((gsize)n > sizeof all->buffer)
        return PACKET_READ_MALFORMED;
    all->receiver = self;
    self->packet = all->buffer;
    self->packet_size = (gsize)n;
    self->packet_offset = 0;
    return PACKET_READ_CALL;
}

/* All strings are later sent in signals and replies on the bus. */
static gboolean
are_texts_valid(const LockCall *call)
{
    return call->bucket[0] != '\0' && strlen(call->bucket) <= BUS_BUCKET_BYTES_MAX &&
           bus_string_is_valid(call->bucket) && bus_string_is_valid(call->name) &&
           bus_string_is_valid(call->options.why) &&
           (call->options.command == NULL || bus_string_is_valid(call->options.command));
}

/* Copies a string, which is not terminated in the packet, behind those before it. There is room. */
static const char *
copy_text(GString *texts, const char *text, gsize length)
{
    const gsize position = texts->len;

    g_string_append_len(texts, text, (gssize)length);
    g_string_append_c(texts, '\0');
    return texts->str + position;
}

/* Of a lock with a cell, the number of slots is that of the cell. Returns FALSE if it can't have
 * that one. */
static gboolean
decode_cell(const PacketSocket *self, const PacketRequest *message, LockOptions *options)
{
    if ((message->options & PACKET_OPTION_CELL) == 0)
        return TRUE;
    if (self->cells == NULL || message->mode != LOCK_MODE_EXCLUSIVE || message->slots == 0 ||
        message->slots >= LOCK_CELLS_PER_PAGE)
        return FALSE;
    options->slots = 0;
    options->cell = &self->cells[message->slots];
    return TRUE;
}

static void
decode_request(const PacketSocket *self, const PacketRequest *message, LockCall *call)
{
    GString *texts = self->all->texts;
    const char *name = message->text + message->bucket_length, *why;

    g_string_set_size(texts, message->head.size);
    g_string_truncate(texts, 0);
    call->kind = LOCK_CALL_REQUEST;
    call->bucket = copy_text(texts, message->text, message->bucket_length);
    call->name = copy_text(texts, name, message->name_length);
    why = copy_text(texts, name + message->name_length, message->texts_length);
    call->key = message->key;
    call->options = (LockOptions){
        .mode = (LockMode)message->mode,
        .slots = message->slots,
        .if_available = (message->options & PACKET_OPTION_IF_AVAILABLE) != 0,
        .steal = (message->options & PACKET_OPTION_STEAL) != 0,
        .signal = (message->options & PACKET_OPTION_SIGNAL) != 0,
        .timeout_ms = message->timeout_ms,
        .key = message->key,
        .why = why,
        .command = strlen(why) < message->texts_length ? why + strlen(why) + 1 : NULL,
    };
    if (!decode_cell(self, message, &call->options) || !are_texts_valid(call))
        call->refusal_name = BUS_ERROR_INVALID_ARGS;
}

static void
decode(const PacketSocket *self, const PacketHead *head, LockCall *out_call)
{
    static const LockCallKind kinds[] = {
        [PACKET_RELEASE] = LOCK_CALL_RELEASE,
        [PACKET_ABORT] = LOCK_CALL_ABORT,
        [PACKET_DOWNGRADE] = LOCK_CALL_DOWNGRADE,
        [PACKET_SYNC] = LOCK_CALL_SYNC,
        [PACKET_END] = LOCK_CALL_END,
    };

    *out_call = (LockCall){
        .wants_reply = (head->flags & PACKET_FLAG_NO_ANSWER) == 0,
        .serial = head->serial,
    };
    if (head->kind == PACKET_REQUEST) {
        decode_request(self, (const PacketRequest *)head, out_call);
        return;
    }
    out_call->kind = kinds[head->kind];
    if (lock_call_is_about_own(out_call))
        out_call->key = ((const PacketKey *)head)->key;
}

/* Whether all messages of the current packet have been read, or there is no packet. */
static gboolean
is_packet_over(const PacketSocket *self)
{
    return self->packet == NULL || self->packet_offset == self->packet_size;
}

/* Without a loop: a client that sends continuously must not keep the service here. */
PacketRead
packet_socket_read(Client *client, LockCall *out_call)
{
    PacketSocket *self = client->socket;
    const PacketHead *head;

    if (self->is_blocked)
        return PACKET_READ_NOTHING;
    if (is_packet_over(self)) {
        PacketRead result;

        forget_packet(self);
        result = receive(self);
        if (result != PACKET_READ_CALL)
            return result;
    }
    head = packet_read_from_client(self->packet, self->packet_size, &self->packet_offset);
    if (head == NULL)
        return PACKET_READ_MALFORMED;
    turn_count_call(self->output.turn, head->size);
    decode(self, head, out_call);
    return PACKET_READ_CALL;
}

LockManager *
packet_socket_get_manager(Client *client, const Target *target)
{
    PacketSocket *self = client->socket;

    if (self->manager == NULL || self->manager->principal != target->principal ||
        !g_str_equal(self->manager->bucket, target->bucket)) {
        LockManager *before = self->manager;

        self->manager =
            user_agent_get_manager(&client->server->user_agent, &target->owner, target->bucket);
        g_clear_pointer(&before, lock_manager_unref);
    }
    return lock_manager_ref(self->manager);
}

void
packet_socket_serve_later(Client *client)
{
    if (!client->socket->is_blocked)
        visit(client->socket);
}

static void
keep_rest(PacketSocket *self)
{
    const gsize n_left = self->packet_size - self->packet_offset;

    self->all->receiver = NULL;
    self->rest = g_memdup2((const guint8 *)self->packet + self->packet_offset, n_left);
    self->packet = self->rest;
    self->packet_size = n_left;
    self->packet_offset = 0;
}

void
packet_socket_pause(Client *client)
{
    PacketSocket *self = client->socket;

    if (is_packet_over(self)) {
        forget_packet(self);
        return;
    }
    if (self->all->receiver == self)
        keep_rest(self);
    do_not_visit(self);
    if (!self->is_blocked)
        visit(self); /* after all others that wait for their turn */
}

guint64
packet_socket_get_end(const Client *client)
{
    const PacketSocket *self = client->socket;
    int n_bytes = 0;

    if (ioctl(self->fd, SIOCINQ, &n_bytes) < 0)
        n_bytes = 0;
    return self->position + (guint64)n_bytes;
}

void
packet_socket_end_here(Client *client)
{
    client->socket->end = packet_socket_get_end(client);
}

gboolean
packet_socket_is_at(const Client *client, guint64 position)
{
    const PacketSocket *self = client->socket;
    gsize n_unread = self->packet != NULL ? self->packet_size - self->packet_offset : 0;

    return self->position - n_unread >= MIN(position, self->end);
}

/* ---- opening and closing */

gboolean
packet_socket_open(PacketSockets *all, Client *client, int *out_fd)
{
    const int kernel_bytes = KERNEL_BYTES;
    PacketSocket *self;
    struct epoll_event event = {.events = EPOLLIN};
    int fds[2];

    g_assert(client->socket == NULL);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return FALSE;
    self = g_new0(PacketSocket, 1);
    event.data.ptr = self;
    if (setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &kernel_bytes, sizeof kernel_bytes) < 0 ||
        epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, fds[0], &event) < 0) {
        close(fds[0]);
        close(fds[1]);
        g_free(self);
        return FALSE;
    }
    self->output = (TurnOutput){.turn = &all->server->turn, .flush = flush};
    self->all = all;
    self->client = client;
    self->fd = fds[0];
    self->end = G_MAXUINT64;
    self->events = event.events;
    self->out = g_byte_array_new();
    client->socket = self;
    client->socket_barrier = 0; /* from now on a position in this socket */
    client->channel = &socket_channel;
    write_live(self->out, client->agent, all->server->user_agent.now_us / 1000);
    turn_add_output(&self->output, self->out->len);
    *out_fd = fds[1];
    return TRUE;
}

void
packet_socket_set_cells(Client *client, Cell *cells)
{
    client->socket->cells = cells;
}

void
packet_socket_close(Client *client, PacketClosedReason reason)
{
    const int last_bytes = LAST_KERNEL_BYTES;
    PacketSocket *self = client->socket;

    if (self == NULL)
        return;
    if (!self->is_muted && (reason != 0 || self->out->len > 0)) {
        /* The buffer must be large enough for all waiting output. */
        setsockopt(self->fd, SOL_SOCKET, SO_SNDBUF, &last_bytes, sizeof last_bytes);
        if (reason != 0)
            PACKET_WRITE(self->out, PACKET_CLOSED, PacketClosed, .reason = reason);
        self->is_muted = TRUE;
        turn_add_output(&self->output, sizeof(PacketClosed));
        turn_flush(self->output.turn);
    }
    turn_remove_output(&self->output);
    forget_packet(self);
    close(self->fd);
    g_byte_array_unref(self->out);
    g_clear_pointer(&self->manager, lock_manager_unref);
    g_free(self);
    client->socket = NULL;
    client->channel = client->default_channel;
    turn_make_runnable(&client->server->turn, client); /* what was not sent may be, on the bus */
}
