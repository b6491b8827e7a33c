/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The latency of one client beside others, first alone, then while the others work as fast as they
 * can. Alternating with its operation, it sends two bytes to an echo process and back: the latency
 * that the kernel alone causes beside the same neighbours.
 *
 *     bench-calm ADDRESS locks NEIGHBOURS COUNT
 *
 * It requests and releases a lock; each neighbour has 64 requests or releases in flight.
 *
 *     bench-calm ADDRESS flood SOCKETS COUNT
 *
 * A SYNC and its answer on its lock socket, beside a process that fills other lock sockets again
 * and again with the cheapest messages that have no answer, releases of what is not held. The
 * sockets have a send buffer of 4 MiB, which only root can have; otherwise the greatest that the
 * system allows.
 *
 *     bench-calm - echo NEIGHBOURS COUNT
 *
 * Only the echo; the neighbours are clients of the same echo process, each with 64 bytes in flight.
 *
 * Prints `alone-...`, `beside-...`, and but for the last one `echo-alone-...` and `echo-beside-...`
 * with mean, p50 and p99, of COUNT each, or of as many as fit into a fixed time. */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hand.h"
#include "load.h"

#define PAUSE_US       200 /* calm: not as fast as it can */
#define WHILE_NS       2000000000ULL
#define MAX_CALM       2
#define MAX_NEIGHBOURS 64
#define IN_FLIGHT      64
/* The number of bytes that the echo process takes from one client before the next: as many as the
 * service takes calls in a turn. */
#define PER_TURN     8
#define BUFFER_BYTES (4 * 1024 * 1024)

/* ---- measuring */

typedef struct {
    void (*operation)(gpointer data);
    gpointer data;
    const char *prefix;
} Calm;

/* Does the operations in turn. */
static void
measure(const Calm *calms, guint n_calms, const char *when, guint count)
{
    BenchSamples *samples[MAX_CALM];
    guint64 end = bench_now() + WHILE_NS * n_calms;

    g_assert(n_calms <= MAX_CALM);
    for (guint k = 0; k < n_calms; k++)
        samples[k] = bench_samples_new_shared(count);
    for (guint i = 0; i < count && bench_now() < end; i++) {
        for (guint k = 0; k < n_calms; k++) {
            guint64 begin;

            bench_pause(PAUSE_US);
            begin = bench_now();
            calms[k].operation(calms[k].data);
            bench_samples_add(samples[k], begin, bench_now());
        }
    }
    for (guint k = 0; k < n_calms; k++) {
        g_autofree char *prefix = g_strconcat(calms[k].prefix, when, NULL);

        bench_samples_print(samples[k], prefix);
        bench_samples_free(samples[k]);
    }
}

/* ---- the echo process, for the calm client and others */

/* Byte by byte, one system call in each direction: like a service without any other work. */
static void
echo_some(int fd, guint n_left)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    for (; n_left > 0 && poll(&ready, 1, 0) > 0; n_left--) {
        bench_wait_notified(fd);
        bench_notify(fd);
    }
}

static pid_t
start_echo(const int *fds, guint n_fds)
{
    struct pollfd polled[MAX_NEIGHBOURS + 1];
    pid_t child = bench_fork();

    if (child != 0)
        return child;
    if (n_fds == 1) {
        while (TRUE) {
            bench_wait_notified(fds[0]);
            bench_notify(fds[0]);
        }
    }
    for (guint i = 0; i < n_fds; i++)
        polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    while (TRUE) {
        int n_ready = poll(polled, n_fds, -1);

        bench_check_errno(n_ready > 0, "poll");
        for (guint i = 0; i < n_fds; i++)
            if (polled[i].revents != 0)
                echo_some(fds[i], MAX(PER_TURN / (guint)n_ready, 1));
    }
}

static void
run_neighbour_of_echo(int fd)
{
    for (guint i = 0; i < IN_FLIGHT; i++)
        bench_notify(fd);
    while (TRUE) {
        bench_wait_notified(fd);
        bench_notify(fd);
    }
}

/* ---- locks */

static void
run_neighbour_of_locks(const char *address, guint index, int fd)
{
    const Load load = {.address = address,
                       .bucket = "bench",
                       .in_flight = IN_FLIGHT,
                       .n_pairs = G_MAXUINT,
                       .index = index};
    gpointer client = load_connect_async(&load);

    bench_notify(fd);
    load_run_async(&load, client);
}

static void
request_and_release(gpointer manager)
{
    g_autoptr(WebLocksLock) lock = bench_request(manager, "printer");

    bench_release(lock);
}

/* ---- a flood */

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
    struct pollfd fds[MAX_NEIGHBOURS];

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

static void
sync_once(gpointer data)
{
    RawClient *client = ((Hand *)data)->client;

    PACKET_WRITE(client->out, PACKET_SYNC, PacketHead, .serial = raw_client_next_serial(client));
    raw_client_send(client);
    raw_client_expect(client, PACKET_ANSWER);
}

/* ---- */

/* A neighbour of locks; or the flood, of so many sockets. It begins when it is told by `fd`, and
 * then tells that it has begun. */
static pid_t
start_neighbour(gboolean is_flood, const char *address, guint number, int fd)
{
    pid_t child = bench_fork();

    if (child != 0)
        return child;
    bench_wait_notified(fd);
    if (is_flood)
        run_flood(address, number, fd);
    else
        run_neighbour_of_locks(address, number, fd);
    _exit(EXIT_FAILURE);
}

static void
measure_beside_clients(gboolean is_flood, const char *address, guint n_neighbours, guint count)
{
    const guint n_children = is_flood ? 1 : n_neighbours;
    Calm calms[] = {{sync_once, NULL, ""}, {bench_echo_twice, NULL, "echo-"}};
    pid_t children[MAX_NEIGHBOURS], echo;
    int pair[2], echo_pair[2];

    bench_make_pair(pair);
    bench_make_pair(echo_pair);
    for (guint i = 0; i < n_children; i++)
        children[i] = start_neighbour(is_flood, address, is_flood ? n_neighbours : i, pair[1]);
    echo = start_echo(&echo_pair[1], 1);
    calms[1].data = &echo_pair[0];
    if (is_flood)
        calms[0].data = hand_new(address);
    else
        calms[0] =
            (Calm){request_and_release, bench_manager_new(bench_agent_new(address), "calm"), ""};
    measure(calms, G_N_ELEMENTS(calms), "alone-", count);
    for (guint i = 0; i < n_children; i++)
        bench_notify(pair[0]);
    for (guint i = 0; i < n_children; i++)
        bench_wait_notified(pair[0]);
    measure(calms, G_N_ELEMENTS(calms), "beside-", count);
    for (guint i = 0; i < n_children; i++)
        bench_kill(children[i]);
    bench_kill(echo);
}

static void
measure_echo(guint n_neighbours, guint count)
{
    int ends[MAX_NEIGHBOURS + 1], fds[MAX_NEIGHBOURS + 1];
    const Calm calm = {bench_echo_twice, &fds[n_neighbours], ""};
    pid_t children[MAX_NEIGHBOURS], echo;

    for (guint i = 0; i <= n_neighbours; i++) {
        int pair[2];

        bench_make_pair(pair);
        fds[i] = pair[0];
        ends[i] = pair[1];
    }
    echo = start_echo(ends, n_neighbours + 1);
    measure(&calm, 1, "alone-", count);
    for (guint i = 0; i < n_neighbours; i++)
        if ((children[i] = bench_fork()) == 0)
            run_neighbour_of_echo(fds[i]);
    measure(&calm, 1, "beside-", count);
    for (guint i = 0; i < n_neighbours; i++)
        bench_kill(children[i]);
    bench_kill(echo);
}

int
main(int argc, char **argv)
{
    guint n_neighbours, count;

    bench_check_usage(argc == 5, "ADDRESS locks|flood|echo NEIGHBOURS COUNT");
    n_neighbours = bench_number(argv[3]);
    count = bench_number(argv[4]);
    if (n_neighbours > MAX_NEIGHBOURS)
        bench_die("neighbours", "too many");
    if (g_str_equal(argv[2], "echo"))
        measure_echo(n_neighbours, count);
    else if (g_str_equal(argv[2], "locks") || g_str_equal(argv[2], "flood"))
        measure_beside_clients(g_str_equal(argv[2], "flood"), argv[1], n_neighbours, count);
    else
        bench_die(argv[2], "neither locks, flood nor echo");
    return EXIT_SUCCESS;
}
