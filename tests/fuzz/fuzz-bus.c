/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/fuzz/fuzz-bus.h"

#include <sys/socket.h>
#include <unistd.h>

sd_bus *
fuzz_bus_new(int *out_fd)
{
    static const char answers[] =
        "DATA\r\nOK 576562204c6f636b7300000000000001\r\nAGREE_UNIX_FD\r\n";
    char words[256];
    sd_bus *bus = NULL;
    int fds[2], r;

    r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds);
    g_assert_cmpint(r, ==, 0);
    g_assert_cmpint(write(fds[1], answers, sizeof answers - 1), ==, sizeof answers - 1);
    if (sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fds[0], fds[0]) < 0 ||
        sd_bus_negotiate_fds(bus, TRUE) < 0 || sd_bus_start(bus) < 0)
        g_error("No connection");
    while (sd_bus_is_ready(bus) == 0)
        g_assert_cmpint(sd_bus_process(bus, NULL), >=, 0);
    g_assert_cmpint(recv(fds[1], words, sizeof words, MSG_DONTWAIT), <, sizeof words);
    *out_fd = fds[1];
    return bus;
}
