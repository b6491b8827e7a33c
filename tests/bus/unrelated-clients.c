/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connects clients to a bus and disconnects them, as fast as the bus accepts them.
 *
 *     unrelated-clients SOCKET COUNT AT-ONCE [PER-SECOND]
 *
 * Each connection sends standard input (a handshake and Hello), and closes when the bus has replied
 * after the handshake. At most AT-ONCE are connected at a time, and at most PER-SECOND are opened
 * in a second. Exits with status 0 when all have disconnected; prints the time in microseconds. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define N_EVENTS     64
#define AT_ONCE_MAX  4096
#define DESCRIPTORS  (AT_ONCE_MAX + 16)
#define USEC_PER_SEC 1000000

typedef struct {
    struct sockaddr_un address;
    char data[4096]; /* sent by each */
    size_t n_bytes;
    int epoll;
    long count;
    long at_once;
    long per_second; /* 0: unlimited */
    long begun_us;
    long n_connected;
    long n_ended;
    char is_authenticated[DESCRIPTORS]; /* by descriptor: the handshake was replied to */
} Clients;

static void
check(int is_good, const char *what)
{
    if (is_good)
        return;
    fprintf(stderr, "unrelated-clients: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static long
get_time_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}

static int
may_connect(const Clients *clients)
{
    if (clients->n_connected == clients->count ||
        clients->n_connected - clients->n_ended >= clients->at_once)
        return 0;
    return clients->per_second == 0 ||
           (get_time_us() - clients->begun_us) * clients->per_second / USEC_PER_SEC >=
               clients->n_connected;
}

/* Blocks while the bus has too many connections to accept. */
static void
connect_one(Clients *clients)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    check(fd >= 0 && fd < DESCRIPTORS, "socket");
    check(connect(fd, (struct sockaddr *)&clients->address, sizeof clients->address) == 0,
          "connect");
    check(write(fd, clients->data, clients->n_bytes) == (ssize_t)clients->n_bytes, "write");
    check(epoll_ctl(clients->epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    clients->is_authenticated[fd] = 0;
    clients->n_connected++;
}

/* Disconnects after the first data behind the line that ends the handshake. */
static void
on_readable(Clients *clients, int fd)
{
    char answer[4096];
    ssize_t n = read(fd, answer, sizeof answer);
    const char *end = n > 0 ? memchr(answer, '\n', (size_t)n) : NULL;

    check(n > 0, "read");
    if (!clients->is_authenticated[fd]) {
        check(end != NULL && memcmp(answer, "OK ", 3) == 0, "handshake");
        clients->is_authenticated[fd] = 1;
        if (end + 1 == answer + n)
            return;
    }
    close(fd);
    clients->n_ended++;
}

int
main(int argc, char **argv)
{
    static Clients clients;

    clients.count = argc >= 4 ? strtol(argv[2], NULL, 10) : 0;
    clients.at_once = argc >= 4 ? strtol(argv[3], NULL, 10) : 0;
    clients.per_second = argc == 5 ? strtol(argv[4], NULL, 10) : 0;
    if (argc > 5 || clients.count <= 0 || clients.at_once <= 0 || clients.at_once > AT_ONCE_MAX ||
        clients.per_second < 0) {
        fprintf(stderr, "usage: unrelated-clients SOCKET COUNT AT-ONCE [PER-SECOND]\n");
        return 2;
    }
    clients.address.sun_family = AF_UNIX;
    strncpy(clients.address.sun_path, argv[1], sizeof clients.address.sun_path - 1);
    clients.n_bytes = fread(clients.data, 1, sizeof clients.data, stdin);
    clients.epoll = epoll_create1(EPOLL_CLOEXEC);
    check(clients.n_bytes > 0 && clients.epoll >= 0, "beginning");

    clients.begun_us = get_time_us();
    while (clients.n_ended < clients.count) {
        struct epoll_event events[N_EVENTS];
        int n;

        while (may_connect(&clients))
            connect_one(&clients);
        n = epoll_wait(clients.epoll, events, N_EVENTS, clients.per_second > 0 ? 1 : -1);
        check(n >= 0, "epoll_wait");
        for (int i = 0; i < n; i++)
            on_readable(&clients, events[i].data.fd);
    }
    printf("%ld\n", get_time_us() - clients.begun_us);
    return EXIT_SUCCESS;
}
