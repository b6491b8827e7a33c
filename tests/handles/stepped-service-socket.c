/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The lock sockets of the service, which yield before they send or end, and when they find
 * nothing to read. */

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/handles/service-sim.h"
#include "tests/handles/steps.h"

/* It seems as if a client never reads what it was sent by WANTED, which is then sent once. */
static int
count_bytes(int fd, unsigned long request, int *out_bytes)
{
    *out_bytes = 1 << 20;
    return request == SIOCOUTQ ? 0 : ioctl(fd, request, out_bytes);
}

/* Of this instance; -1: none. */
static int socket_fds[SIM_CLIENTS] = {-1, -1};

static int
make_sockets(const Client *client, int fds[2])
{
    const int result = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds);

    sim_begin_socket(service_sim_index(client));
    socket_fds[service_sim_index(client)] = fds[0];
    return result;
}

static int
close_fd(int fd)
{
    for (guint i = 0; i < SIM_CLIENTS; i++) {
        if (socket_fds[i] != fd)
            continue;
        step_before(0, OBJECT_TO_SERVICE(i) | OBJECT_TO_CLIENT(i), "closes a socket");
        socket_fds[i] = -1;
        sim_end_receiving(i);
        sim_end_sending(i, DIRECTION_TO_CLIENT);
    }
    return close(fd);
}

void
service_sim_forget_sockets(void)
{
    for (guint i = 0; i < SIM_CLIENTS; i++)
        socket_fds[i] = -1;
}

static int wait_for_sockets(int epoll_fd, struct epoll_event *events, int n_events);

#define send(fd, bytes, size, flags) \
    sim_send(service_sim_index(self->client), DIRECTION_TO_CLIENT, fd, bytes, size, flags)
#define recv(fd, bytes, size, flags) \
    sim_receive(service_sim_index(self->client), DIRECTION_TO_SERVICE, fd, bytes, size, flags)
#define ioctl(fd, request, out_bytes)                count_bytes(fd, request, out_bytes)
#define epoll_wait(fd, events, n_events, timeout_ms) wait_for_sockets(fd, events, n_events)
#define socketpair(family, type, protocol, fds)      make_sockets(client, fds)
#define close(fd)                                    close_fd(fd)
#define socket_channel                               real_socket_channel

#include "service/socket/packet-socket.c" /* NOLINT(bugprone-suspicious-include) */

#undef socket_channel
#undef epoll_wait

/* In an order that doesn't depend on who has sent first, but is chosen. */
static int
wait_for_sockets(int epoll_fd, struct epoll_event *events, int n_events)
{
    const int n = epoll_wait(epoll_fd, events, n_events, 0);

    g_assert_cmpint(n, <=, SIM_CLIENTS);
    if (n == 2 && service_sim_index(((const PacketSocket *)events[0].data.ptr)->client) !=
                      service_sim_get_first()) {
        const struct epoll_event before = events[0];

        events[0] = events[1];
        events[1] = before;
    }
    for (int i = 0; i < n; i++)
        step_note(service_sim_index(((const PacketSocket *)events[i].data.ptr)->client));
    return n;
}

static void
reply_and_note(Client *client, const LockCall *call, const LockReply *lock_reply)
{
    service_sim_note_reply(client, call, lock_reply);
    reply(client, call, lock_reply);
}

extern const Channel socket_channel;
const Channel socket_channel = {
    .reply = reply_and_note,
    .event = event,
    .wanted = wanted,
    .admits_wanted = admits_wanted,
    .is_writable = is_writable,
};
