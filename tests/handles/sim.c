/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/handles/sim.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "service/core/user-agent.h"
#include "tests/handles/reference.h"
#include "tests/handles/steps.h"

#define PACKETS_MAX 16
#define FDS_MAX     256
#define REPLIES_MAX 4

/* The longest time that a client waits to try again: recovery.c of the library. */
#define RETRY_MS 1000

typedef struct {
    guint64 packets[PACKETS_MAX]; /* hashes */
    guint n_packets;
    gboolean has_ended;
} Queue;

static struct {
    Queue queues[SIM_CLIENTS][2]; /* by Direction */
    int client_fds[SIM_CLIENTS];  /* the client's end of its socket; 0: it has none */
    /* To the client, of its socket, which the service has replaced by the one of `queues`. */
    Queue replaced[SIM_CLIENTS];
    gboolean is_replaced[SIM_CLIENTS];
    guint n_sockets[SIM_CLIENTS]; /* that the service has made */
    guint taken[SIM_CLIENTS];     /* which of them the client was sent last */
    gint64 passed_us[SIM_CLIENTS];
    BusCallKind calls[SIM_CLIENTS][REPLIES_MAX];
    guint n_calls[SIM_CLIENTS];
    SimReply replies[SIM_CLIENTS][REPLIES_MAX];
    guint n_replies[SIM_CLIENTS];
    guint n_unanswered[SIM_CLIENTS]; /* that the service has taken */
    BusCallKind unanswered[SIM_CLIENTS];
    guint8 is_of_client[FDS_MAX]; /* its number and 1; 0: of none */
    guint n_starts;               /* of the service, that were completed */
    /* Before there are steps. */
    guint beginner;
    void (*settle)(void);
} w;

/* Of the process: descriptors that no run closes. */
static gboolean is_kept[FDS_MAX];
static int bus_fds[SIM_CLIENTS] = {-1, -1};

guint
sim_get_client(void)
{
    const char letter = step_get_actor();

    if (letter == 0)
        return w.beginner;
    g_assert(letter == 'A' || letter == 'B');
    return (guint)(letter - 'A');
}

/* ---- time, which replaces that of GLib */

gint64
g_get_monotonic_time(void)
{
    const char letter = step_get_actor();

    return SIM_NOW_US + (letter == 'A' || letter == 'B' ? w.passed_us[letter - 'A'] : 0);
}

gint64
g_get_real_time(void)
{
    /* The tokens of an instance start ahead of the clock, and locks have no cell until it is later.
     */
    return SIM_REALTIME_US + (gint64)(w.n_starts * TOKENS_AHEAD);
}

/* ---- sockets */

static Queue *
get_queue(guint client, Direction to)
{
    return &w.queues[client][to];
}

static guint32
get_object(guint client, Direction to)
{
    return to == DIRECTION_TO_SERVICE ? OBJECT_TO_SERVICE(client) : OBJECT_TO_CLIENT(client);
}

/* That of the socket which the receiver has. */
static Queue *
get_received(guint client, Direction to)
{
    return to == DIRECTION_TO_CLIENT && w.is_replaced[client] ? &w.replaced[client]
                                                              : get_queue(client, to);
}

gboolean
sim_has_packet(guint client, Direction to)
{
    return get_received(client, to)->n_packets > 0;
}

void
sim_begin_socket(guint client)
{
    w.n_sockets[client]++;
    w.is_replaced[client] = w.client_fds[client] > 0;
    w.replaced[client] = *get_queue(client, DIRECTION_TO_CLIENT);
    memset(w.queues[client], 0, sizeof w.queues[client]);
}

void
sim_end_sending(guint client, Direction to)
{
    get_queue(client, to)->has_ended = TRUE;
}

void
sim_drop_socket(guint client)
{
    step_before(0, OBJECT_TO_SERVICE(client), "drops a socket");
    if (w.taken[client] == w.n_sockets[client])
        sim_end_sending(client, DIRECTION_TO_SERVICE);
}

void
sim_end_receiving(guint client)
{
    get_queue(client, DIRECTION_TO_SERVICE)->n_packets = 0;
}

gboolean
sim_has_ended(guint client, Direction to)
{
    return get_queue(client, to)->has_ended;
}

ssize_t
sim_send(guint client, Direction to, int fd, const void *bytes, size_t size, int flags)
{
    Queue *queue = get_queue(client, to);
    ssize_t n;

    step_before(0, get_object(client, to), to == DIRECTION_TO_CLIENT ? "sends" : "calls");
    n = send(fd, bytes, size, flags);
    if (n >= 0) {
        g_assert(queue->n_packets < PACKETS_MAX);
        queue->packets[queue->n_packets++] = steps_mix_bytes(0, bytes, size);
    }
    if (to == DIRECTION_TO_CLIENT)
        reference_was_told(client);
    step_note((guint64)(n >= 0));
    return n;
}

ssize_t
sim_receive(guint client, Direction to, int fd, void *bytes, size_t size, int flags)
{
    Queue *queue;
    ssize_t n;

    if (!sim_has_packet(client, to))
        step_before(get_object(client, to), 0, "finds no packet");
    queue = get_received(client, to);
    n = recv(fd, bytes, size, flags);
    if (n > 0) {
        g_assert(queue->n_packets > 0);
        step_note(queue->packets[0]);
        memmove(queue->packets, queue->packets + 1, --queue->n_packets * sizeof *queue->packets);
    } else if (n == 0) {
        if (!queue->has_ended)
            steps_fail("a socket of client %u ends early", client);
        step_note(1);
    } else if (errno == EAGAIN) {
        step_note(2);
    }
    /* That a connection was reset, which the kernel reports once, makes no difference. */
    return n;
}

/* What was sent before can still be read. */
int
sim_shut_down(int fd)
{
    const guint client = sim_get_client();

    step_before(0, OBJECT_TO_SERVICE(client) | OBJECT_TO_CLIENT(client), "shuts a socket down");
    sim_end_sending(client, DIRECTION_TO_SERVICE);
    sim_end_sending(client, DIRECTION_TO_CLIENT);
    return shutdown(fd, SHUT_RDWR);
}

static guint64
describe_sockets(void)
{
    guint64 hash = 0;

    for (guint i = 0; i < SIM_CLIENTS; i++)
        for (guint j = 0; j < 2; j++) {
            const Queue *queue = &w.queues[i][j];

            hash = steps_mix_bytes(steps_mix(hash, (guint64)queue->has_ended), queue->packets,
                                   queue->n_packets * sizeof *queue->packets);
            if (j == DIRECTION_TO_CLIENT && w.is_replaced[i])
                hash = steps_mix_bytes(steps_mix(hash, 2), w.replaced[i].packets,
                                       w.replaced[i].n_packets * sizeof *queue->packets);
        }
    return hash;
}

/* ---- the library's loop */

typedef struct {
    struct pollfd *fds;
    nfds_t n_fds;
    int timeout_ms;
    guint client;
} PollCall;

/* What is there stays there, so only what is not can be affected. */
static guint32
get_polled(const PollCall *call)
{
    return (sim_has_packet(call->client, DIRECTION_TO_CLIENT) ? 0
                                                              : OBJECT_TO_CLIENT(call->client)) |
           (w.n_replies[call->client] > 0 ? 0 : OBJECT_BUS(call->client));
}

static gboolean
is_ready(const PollCall *call)
{
    return poll(call->fds, call->n_fds, 0) > 0;
}

static gboolean
can_poll(Step *step)
{
    const PollCall *call = step->data;

    step->reads = get_polled(call);
    return call->timeout_ms == 0 || is_ready(call);
}

static gboolean
can_expire(Step *step)
{
    const PollCall *call = step->data;

    step->reads = get_polled(call);
    return call->timeout_ms > 0 && call->timeout_ms <= RETRY_MS && !is_ready(call);
}

int
sim_poll(struct pollfd *fds, nfds_t n_fds, int timeout_ms)
{
    PollCall call = {fds, n_fds, timeout_ms, sim_get_client()};
    const Step steps[] = {
        {.name = "polls", .prepare = can_poll, .data = &call},
        {.name = "has waited", .prepare = can_expire, .data = &call},
    };
    int n_ready;

    if (step_get_actor() == 0)
        w.settle();
    if (fds[0].fd >= 0) /* that of the thread */
        is_kept[fds[0].fd] = TRUE;
    if (step_choose(steps, G_N_ELEMENTS(steps)) == 1) {
        w.passed_us[call.client] += timeout_ms * G_TIME_SPAN_MILLISECOND;
        for (nfds_t i = 0; i < n_fds; i++)
            fds[i].revents = 0;
        return 0;
    }
    n_ready = poll(fds, n_fds, 0);
    for (nfds_t i = 1; i < n_fds; i++) {
        if (fds[i].revents & POLLIN) /* whether there will be more has no influence */
            fds[i].revents = POLLIN;
        step_note((guint64)fds[i].revents);
    }
    return n_ready;
}

int
sim_count_bytes(int fd, int *out_bytes)
{
    step_before(OBJECT_TO_CLIENT(sim_get_client()), 0, "counts bytes");
    if (ioctl(fd, FIONREAD, out_bytes) != 0)
        return -1;
    step_note((guint64)*out_bytes);
    return 0;
}

/* ---- the bus */

int
sim_get_bus_fd(guint client)
{
    return bus_fds[client];
}

void
sim_call(guint client, BusCallKind kind)
{
    step_before(0, OBJECT_BUS(client), "calls on the bus");
    g_assert(w.n_calls[client] < REPLIES_MAX);
    w.calls[client][w.n_calls[client]++] = kind;
}

gboolean
sim_has_call(guint client)
{
    return w.n_calls[client] > 0;
}

BusCallKind
sim_take_call(guint client)
{
    const BusCallKind kind = w.calls[client][0];

    memmove(w.calls[client], w.calls[client] + 1, --w.n_calls[client] * sizeof kind);
    g_assert(w.n_unanswered[client]++ == 0);
    w.unanswered[client] = kind;
    return kind;
}

void
sim_reply(guint client, const SimReply *reply)
{
    const guint64 one = 1;

    g_assert(w.n_replies[client] < REPLIES_MAX && w.n_unanswered[client] > 0);
    w.n_unanswered[client] = 0;
    w.replies[client][w.n_replies[client]] = *reply;
    w.replies[client][w.n_replies[client]++].socket = w.n_sockets[client];
    g_assert(write(bus_fds[client], &one, sizeof one) == sizeof one);
}

gboolean
sim_has_reply(guint client)
{
    return w.n_replies[client] > 0;
}

gboolean
sim_is_calling(guint client)
{
    return w.n_calls[client] + w.n_unanswered[client] + w.n_replies[client] > 0;
}

SimReply
sim_take_reply(guint client)
{
    const SimReply reply = w.replies[client][0];
    guint64 count;

    g_assert(w.n_replies[client] > 0 && read(bus_fds[client], &count, sizeof count) > 0);
    memmove(w.replies[client], w.replies[client] + 1, --w.n_replies[client] * sizeof reply);
    w.taken[client] = reply.socket;
    step_note((guint64)reply.kind * 4 + (reply.is_unanswered ? 2 : 0) + (reply.page_fd >= 0));
    return reply;
}

static guint64
describe_bus(void)
{
    guint64 hash = 0;

    for (guint i = 0; i < SIM_CLIENTS; i++) {
        hash = steps_mix_bytes(hash, w.calls[i], w.n_calls[i] * sizeof w.calls[i][0]);
        for (guint j = 0; j < w.n_replies[i]; j++)
            hash = steps_mix(hash, (guint64)w.replies[i][j].kind * 4 +
                                       (w.replies[i][j].is_unanswered ? 2 : 0) +
                                       (w.replies[i][j].page_fd >= 0));
        hash = steps_mix(hash, w.n_replies[i] + 8 * w.n_unanswered[i]);
    }
    return hash;
}

/* ---- descriptors */

void
sim_keep_fd(int fd)
{
    g_assert(fd >= 0 && fd < FDS_MAX);
    w.is_of_client[fd] = (guint8)(sim_get_client() + 1);
    w.client_fds[sim_get_client()] = fd;
}

int
sim_close(int fd)
{
    for (guint i = 0; i < SIM_CLIENTS; i++) {
        if (w.client_fds[i] != fd)
            continue;
        w.client_fds[i] = 0;
        w.is_replaced[i] = FALSE;
    }
    w.is_of_client[fd] = 0;
    return close(fd);
}

static gboolean
is_on_its_way(int fd)
{
    for (guint i = 0; i < SIM_CLIENTS; i++)
        for (guint j = 0; j < w.n_replies[i]; j++)
            if (w.replies[i][j].fd == fd || w.replies[i][j].page_fd == fd)
                return TRUE;
    return FALSE;
}

/* Closes all descriptors of the run; with `is_service`, only those of the service. */
static void
close_all(gboolean is_service)
{
    unsigned first = 3;

    for (unsigned fd = first; fd < FDS_MAX; fd++) {
        if (!is_kept[fd] && (!is_service || (w.is_of_client[fd] == 0 && !is_on_its_way((int)fd))))
            continue;
        if (fd > first)
            close_range(first, fd - 1, 0);
        first = fd + 1;
    }
    close_range(first, FDS_MAX - 1, 0);
}

void
sim_lose_service(void)
{
    close_all(TRUE);
    sim_end_page(NULL);
    for (guint i = 0; i < SIM_CLIENTS; i++) {
        w.queues[i][DIRECTION_TO_SERVICE] = (Queue){.has_ended = FALSE};
        sim_end_sending(i, DIRECTION_TO_CLIENT);
        if (w.n_unanswered[i] > 0) {
            const SimReply none = {.kind = w.unanswered[i], TRUE, -1, -1};

            sim_reply(i, &none);
        }
    }
}

void
sim_lose_client(guint client)
{
    for (int fd = 3; fd < FDS_MAX; fd++)
        if (w.is_of_client[fd] == client + 1)
            sim_close(fd);
    sim_end_sending(client, DIRECTION_TO_SERVICE);
    get_queue(client, DIRECTION_TO_CLIENT)->n_packets = 0;
}

/* ---- runs */

guint64
sim_describe(void)
{
    return steps_mix(steps_mix(sim_describe_pages(), describe_sockets()), describe_bus());
}

void
sim_let_begin(guint client)
{
    w.beginner = client;
}

void
sim_note_start(void)
{
    w.n_starts++;
}

void
sim_begin(void (*settle)(void))
{
    if (bus_fds[0] < 0) {
        for (guint i = 0; i < SIM_CLIENTS; i++)
            bus_fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
        g_main_context_default(); /* with a descriptor of its own */
        for (int fd = 0; fd <= bus_fds[1] + 2; fd++)
            is_kept[fd] = TRUE;
    }
    memset(&w, 0, sizeof w);
    w.settle = settle;
}

void
sim_end(void)
{
    guint64 count;

    sim_forget_pages();
    for (guint i = 0; i < SIM_CLIENTS; i++)
        while (read(bus_fds[i], &count, sizeof count) > 0)
            continue;
    close_all(FALSE);
}
