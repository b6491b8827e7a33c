/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "hand.h"

#include <fcntl.h>

#include "common/wire-names.h"

#define BENCH_BUCKET WIRE_BUCKET_PREFIX "/bench"

static sd_bus *
open_bus(const char *address)
{
    sd_bus *bus = NULL;

    bench_check(sd_bus_new(&bus), "sd_bus_new");
    bench_check(sd_bus_set_address(bus, address), address);
    bench_check(sd_bus_set_bus_client(bus, TRUE), address);
    bench_check(sd_bus_start(bus), address);
    return bus;
}

static sd_bus *
open_private_socket(sd_bus *bus)
{
    g_autoptr(SdBusMessage) reply = NULL;
    sd_bus *socket = NULL;
    int fd;

    bench_check(sd_bus_call_method(bus, WIRE_BUS_NAME, WIRE_SERVICE_PATH, WIRE_SERVICE_INTERFACE,
                                   "OpenPeer", NULL, &reply, ""),
                "OpenPeer");
    bench_check(sd_bus_message_read(reply, "h", &fd), "OpenPeer");
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    bench_check_errno(fd >= 0, "OpenPeer");
    bench_check(sd_bus_new(&socket), "sd_bus_new");
    bench_check(sd_bus_set_fd(socket, fd, fd), "private socket");
    bench_check(sd_bus_start(socket), "private socket");
    return socket;
}

Hand *
hand_new(const char *address, const char *path)
{
    Hand *hand = g_new0(Hand, 1);

    hand->bus = open_bus(address);
    if (g_str_equal(path, BENCH_PATH_PRIVATE))
        hand->socket = open_private_socket(hand->bus);
    hand->way = hand->socket != NULL ? hand->socket : hand->bus;
    return hand;
}

void
hand_free(Hand *hand)
{
    sd_bus_flush_close_unref(hand->socket);
    sd_bus_flush_close_unref(hand->bus);
    g_free(hand);
}

guint64
hand_request(Hand *hand, const char *name, guint64 *out_token)
{
    g_autoptr(SdBusMessage) reply = NULL;
    uint64_t id, token;

    bench_check(sd_bus_call_method(hand->way, WIRE_BUS_NAME, BENCH_BUCKET, WIRE_LOCKS_INTERFACE,
                                   "Request", NULL, &reply, "sa{sv}", name, 1, WIRE_OPTION_KEY, "t",
                                   ++hand->key),
                "Request");
    bench_check(sd_bus_message_read(reply, "tt", &id, &token), "Request");
    *out_token = token;
    return id;
}

void
hand_release(Hand *hand, guint64 id)
{
    bench_check(sd_bus_call_method(hand->way, WIRE_BUS_NAME, BENCH_BUCKET, WIRE_LOCKS_INTERFACE,
                                   "Release", NULL, NULL, "t", id),
                "Release");
    /* The service asks by the bus now and then whether it is read. */
    while (hand->way == hand->bus && hand->key % 16 == 0 && sd_bus_process(hand->bus, NULL) > 0)
        ;
}
