/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connects clients to a bus and disconnects them, as fast as the bus accepts them.
 *
 *     strangers SOCKET COUNT AT-ONCE [PER-SECOND]
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
    char words[4096]; /* what each says */
    size_t n_words;
    int epoll;
    long count;
    long at_once;
    long per_second; /* 0: as many as there can be */
    long begun_us;
    long n_begun;
    long n_ended;
    char is_greeted[DESCRIPTORS]; /* by descriptor: the handshake has its answer */
} Crowd;

static void
check(int is_good, const char *what)
{
    if (is_good)
        return;
    fprintf(stderr, "strangers: %s: %s\n", what, strerror(errno));
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
may_begin(const Crowd *crowd)
{
    if (crowd->n_begun == crowd->count || crowd->n_begun - crowd->n_ended >= crowd->at_once)
        return 0;
    return crowd->per_second == 0 ||
           (get_time_us() - crowd->begun_us) * crowd->per_second / USEC_PER_SEC >= crowd->n_begun;
}

/* Waits while the bus has too many to take. */
static void
begin(Crowd *crowd)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    check(fd >= 0 && fd < DESCRIPTORS, "socket");
    check(connect(fd, (struct sockaddr *)&crowd->address, sizeof crowd->address) == 0, "connect");
    check(write(fd, crowd->words, crowd->n_words) == (ssize_t)crowd->n_words, "write");
    check(epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll");
    crowd->is_greeted[fd] = 0;
    crowd->n_begun++;
}

/* It goes when there is anything behind the line that ends the handshake. */
static void
hear(Crowd *crowd, int fd)
{
    char answer[4096];
    ssize_t n = read(fd, answer, sizeof answer);
    const char *end = n > 0 ? memchr(answer, '\n', (size_t)n) : NULL;

    check(n > 0, "read");
    if (!crowd->is_greeted[fd]) {
        check(end != NULL && memcmp(answer, "OK ", 3) == 0, "handshake");
        crowd->is_greeted[fd] = 1;
        if (end + 1 == answer + n)
            return;
    }
    close(fd);
    crowd->n_ended++;
}

int
main(int argc, char **argv)
{
    static Crowd crowd;

    crowd.count = argc >= 4 ? strtol(argv[2], NULL, 10) : 0;
    crowd.at_once = argc >= 4 ? strtol(argv[3], NULL, 10) : 0;
    crowd.per_second = argc == 5 ? strtol(argv[4], NULL, 10) : 0;
    if (argc > 5 || crowd.count <= 0 || crowd.at_once <= 0 || crowd.at_once > AT_ONCE_MAX ||
        crowd.per_second < 0) {
        fprintf(stderr, "usage: strangers SOCKET COUNT AT-ONCE [PER-SECOND]\n");
        return 2;
    }
    crowd.address.sun_family = AF_UNIX;
    strncpy(crowd.address.sun_path, argv[1], sizeof crowd.address.sun_path - 1);
    crowd.n_words = fread(crowd.words, 1, sizeof crowd.words, stdin);
    crowd.epoll = epoll_create1(EPOLL_CLOEXEC);
    check(crowd.n_words > 0 && crowd.epoll >= 0, "beginning");

    crowd.begun_us = get_time_us();
    while (crowd.n_ended < crowd.count) {
        struct epoll_event events[N_EVENTS];
        int n;

        while (may_begin(&crowd))
            begin(&crowd);
        n = epoll_wait(crowd.epoll, events, N_EVENTS, crowd.per_second > 0 ? 1 : -1);
        check(n >= 0, "epoll_wait");
        for (int i = 0; i < n; i++)
            hear(&crowd, events[i].data.fd);
    }
    printf("%ld\n", get_time_us() - crowd.begun_us);
    return EXIT_SUCCESS;
}
