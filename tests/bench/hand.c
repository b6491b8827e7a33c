/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "hand.h"

#include <fcntl.h>
#include <glib-unix.h>

#define BUCKET "bench"

Hand *
hand_new(const char *address)
{
    Hand *hand = g_new0(Hand, 1);
    int flags;

    hand->connection = bench_connect(address);
    hand->client = raw_client_new(hand->connection);
    flags = fcntl(hand->client->fd, F_GETFL);
    bench_check_errno(fcntl(hand->client->fd, F_SETFL, flags & ~O_NONBLOCK) == 0, "blocking");
    raw_client_expect(hand->client, PACKET_LIVE);
    return hand;
}

static gboolean
on_readable(int fd, GIOCondition condition, gpointer data)
{
    ((Hand *)data)->is_readable = TRUE;
    return G_SOURCE_CONTINUE;
}

void
hand_use_main_loop(Hand *hand)
{
    g_unix_fd_add(hand->client->fd, G_IO_IN, on_readable, hand);
    hand->has_loop = TRUE;
}

/* As raw_client_expect(). */
static const PacketHead *
expect(Hand *hand, PacketKind kind)
{
    const RawClient *client = hand->client;
    const PacketHead *head;

    do {
        hand->is_readable = !hand->has_loop || client->offset < client->size;
        while (!hand->is_readable)
            g_main_context_iteration(NULL, TRUE);
        head = raw_client_receive(hand->client);
    } while (head != NULL && head->kind == PACKET_WANTED);
    if (head == NULL || head->kind != kind)
        bench_die("packet", "one that was not expected");
    return head;
}

static const PacketAnswer *
await_answer(Hand *hand, const char *what)
{
    const PacketAnswer *answer;

    raw_client_send(hand->client);
    answer = (const PacketAnswer *)expect(hand, PACKET_ANSWER);
    if (answer->error != PACKET_ERROR_NONE)
        bench_die(what, "an answer that was not expected");
    return answer;
}

static guint64
request(Hand *hand, const char *name, PacketState expected)
{
    const guint64 key = ++hand->key;

    packet_write_request(hand->client->out, raw_client_next_serial(hand->client), key, 0,
                         LOCK_MODE_EXCLUSIVE, 0, 0, BUCKET, name, NULL, NULL);
    if (await_answer(hand, "REQUEST")->state != expected)
        bench_die("REQUEST", "a state that was not expected");
    return key;
}

guint64
hand_request(Hand *hand, const char *name)
{
    return request(hand, name, PACKET_STATE_HELD);
}

guint64
hand_queue(Hand *hand, const char *name)
{
    return request(hand, name, PACKET_STATE_WAITS);
}

void
hand_await_grant(Hand *hand)
{
    expect(hand, PACKET_GRANTED);
}

void
hand_release(Hand *hand, guint64 key)
{
    packet_write_key(hand->client->out, PACKET_RELEASE, 0, raw_client_next_serial(hand->client),
                     key);
    await_answer(hand, "RELEASE");
}
