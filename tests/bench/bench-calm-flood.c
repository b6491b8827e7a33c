/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The latency of one client on its lock socket beside a process that fills other lock sockets again
 * and again with the cheapest messages that have no answer, releases of what is not held: a SYNC
 * and its answer, first alone, then beside the flood. Alternating with that, it sends two bytes to
 * an echo process and back, as bench-calm does.
 *
 *     bench-calm-flood ADDRESS SOCKETS COUNT
 *
 * The sockets have a send buffer of 4 MiB, which only root can have; otherwise the greatest that
 * the system allows. Prints what bench-calm does. */

#include "calm.h"
#include "hand.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKETS_MAX  64
#define BUFFER_BYTES (4 * 1024 * 1024)

static GByteArray *
make_packet(void)
{
    GByteArray *packet = g_byte_array_new();
    guint size;

    do {
        size = packet->len;
        packet_write_key(packet, PACKET_RELEASE, PACKET_FLAG_NO_ANSWER, 0, 1);
    } while (packet->len <= PACKET_BYTES_MAX);
    g_byte_array_set_size(packet, size);
    return packet;
}

static void
set_buffer(int fd)
{
    const int bytes = BUFFER_BYTES;

    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static void
run_flood(const char *address, guint n_sockets, int fd)
{
    g_autoptr(GByteArray) packet = make_packet();
    struct pollfd fds[SOCKETS_MAX];

    for (guint i = 0; i < n_sockets; i++) {
        fds[i] = (struct pollfd){.fd = hand_new(address)->client->fd, .events = POLLOUT};
        set_buffer(fds[i].fd);
    }
    bench_notify(fd);
    while (TRUE) {
        bench_check_errno(poll(fds, n_sockets, -1) > 0, "poll");
        for (guint i = 0; i < n_sockets; i++)
            if (fds[i].revents != 0)
                bench_check_errno(send(fds[i].fd, packet->data, packet->len, MSG_DONTWAIT) > 0 ||
                                      errno == EAGAIN,
                                  "send");
    }
}

static pid_t
start_flood(const char *address, guint n_sockets, int fd)
{
    pid_t child = bench_fork();

    if (child != 0)
        return child;
    bench_wait_notified(fd);
    run_flood(address, n_sockets, fd);
    _exit(EXIT_FAILURE);
}

static void
sync_once(gpointer data)
{
    RawClient *client = ((Hand *)data)->client;

    packet_write_head(client->out, PACKET_SYNC, raw_client_next_serial(client));
    raw_client_send(client);
    raw_client_expect(client, PACKET_ANSWER);
}

static void
measure(Hand *hand, int echo, gboolean is_alone, guint count)
{
    const Calm calms[] = {
        {sync_once, hand, is_alone ? "alone-" : "beside-"},
        {calm_echo_twice, &echo, is_alone ? "echo-alone-" : "echo-beside-"},
    };

    calm_measure(calms, G_N_ELEMENTS(calms), count);
}

int
main(int argc, char **argv)
{
    guint n_sockets, count;
    int pair[2], echo_pair[2];
    pid_t flood, echo;
    Hand *hand;

    bench_check_usage(argc == 4, "ADDRESS SOCKETS COUNT");
    n_sockets = bench_number(argv[2]);
    count = bench_number(argv[3]);
    if (n_sockets > SOCKETS_MAX)
        bench_die("sockets", "too many");
    bench_make_pair(pair);
    bench_make_pair(echo_pair);
    flood = start_flood(argv[1], n_sockets, pair[1]);
    echo = calm_start_echo(echo_pair[1]);

    hand = hand_new(argv[1]);
    measure(hand, echo_pair[0], TRUE, count);
    bench_notify(pair[0]);
    bench_wait_notified(pair[0]);
    measure(hand, echo_pair[0], FALSE, count);
    bench_kill(flood);
    bench_kill(echo);
    hand_free(hand);
    return EXIT_SUCCESS;
}
