/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What clients can send on their lock sockets and by the bus, in any order: packets of any bytes,
 * lengths and kinds, calls meanwhile, sockets that are closed or opened again, clients that do not
 * read, and clients that disconnect with unread messages.
 *
 * The first byte of an input selects how it ends. Then each byte is a step (see `steps`) of the
 * client that its highest bit selects, followed by the step's arguments. The invariants are in
 * socket-world.h; at the end no object and no descriptor may be left. */

#include <string.h>
#include <unistd.h>

#include "common/bus-names.h"
#include "common/packet.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/socket-world.h"

#define PACKET_MADE_MAX (2 * PACKET_BYTES_MAX)
/* For each input: more than a client can have unread, and so little that inputs don't take long. */
#define SENT_BYTES_MAX (4 * PACKET_BYTES_MAX)

typedef struct {
    const uint8_t *at;
    size_t left;
    SocketWorld world;
    Party *party;
    GByteArray *packet; /* under construction */
    gsize n_bytes_sent;
} Run;

static guint
take_byte(Run *play)
{
    if (play->left == 0)
        return 0;
    play->left--;
    return *play->at++;
}

/* One of some texts, of which some are long. */
static const char *
take_text(Run *play)
{
    static const char *const texts[] = {
        "", "x", "y", "-reserved", "\xc3\xa4", "\xef\xbf\xbf", "b", "document",
    };
    static char longest[2000];
    const guint chosen = take_byte(play);

    if (chosen < 0xf0)
        return texts[chosen % G_N_ELEMENTS(texts)];
    memset(longest, 'n', sizeof longest - 1);
    /* About the maximum lengths of names, buckets and whys, and much longer ones. */
    return longest + (sizeof longest - 1) - (gsize[]){255, 256, 257, 1024, 1025, 1999}[chosen % 6];
}

/* ---- steps */

static void
add_bytes(Run *play)
{
    const size_t wanted = take_byte(play), n = MIN(wanted, play->left);

    g_byte_array_append(play->packet, play->at, (guint)n);
    play->at += n;
    play->left -= n;
}

static void
add_request(Run *play)
{
    const guint64 key = take_byte(play);
    const guint chosen = take_byte(play);
    const char *bucket = take_text(play), *name = take_text(play);

    packet_write_request(play->packet, ++play->party->serial, key, chosen & 16 ? 1000000 : 0,
                         chosen & 8 ? LOCK_MODE_SHARED : LOCK_MODE_EXCLUSIVE, chosen & 7,
                         chosen >> 5, bucket, name, take_text(play), chosen & 32 ? name : NULL);
}

static void
add_call_with_key(Run *play)
{
    const guint chosen = take_byte(play);
    const PacketKind kind = chosen & 128  ? PACKET_ABORT
                            : chosen & 32 ? PACKET_DOWNGRADE
                                          : PACKET_RELEASE;

    packet_write_key(play->packet, kind, chosen & 64 ? PACKET_FLAG_NO_ANSWER : 0,
                     ++play->party->serial, chosen & 31);
}

static void
add_sync(Run *play)
{
    PACKET_WRITE(play->packet, PACKET_SYNC, PacketHead, .serial = ++play->party->serial);
}

static void
add_end(Run *play)
{
    PACKET_WRITE(play->packet, PACKET_END, PacketHead, .serial = ++play->party->serial);
}

static void
spoil_byte(Run *play)
{
    const guint at = take_byte(play) | take_byte(play) << 8, change = take_byte(play);

    if (play->packet->len > 0)
        play->packet->data[at % play->packet->len] ^= (guint8)change;
}

static void
cut_packet(Run *play)
{
    const guint wanted = take_byte(play), n = MIN(wanted, play->packet->len);

    g_byte_array_set_size(play->packet, play->packet->len - n);
}

static void
repeat_packet(Run *play)
{
    const guint times = take_byte(play), size = play->packet->len;

    for (guint i = 0; size > 0 && i < times && play->packet->len + size <= PACKET_MADE_MAX; i++) {
        g_byte_array_set_size(play->packet, play->packet->len + size);
        memcpy(play->packet->data + play->packet->len - size, play->packet->data, size);
    }
}

static void
send_times(Run *play, guint times)
{
    const GByteArray *packet = play->packet;

    for (; times > 0 && play->n_bytes_sent < SENT_BYTES_MAX; times--) {
        socket_world_send(&play->world, play->party, packet->data, packet->len);
        play->n_bytes_sent += packet->len + 1;
    }
    g_byte_array_set_size(play->packet, 0);
}

static void
send_packet(Run *play)
{
    send_times(play, 1);
}

static void
send_packet_often(Run *play)
{
    send_times(play, take_byte(play));
}

static void
serve(Run *play)
{
    socket_world_serve(&play->world);
}

static void
call(Run *play, const char *path, const char *interface, const char *member, GVariant *body)
{
    if (play->party->is_there)
        socket_world_call(&play->world, play->party, path, interface, member, body);
    else if (body != NULL)
        g_variant_unref(g_variant_ref_sink(body));
}

static void
open_socket(Run *play)
{
    const guint version = take_byte(play);
    GVariantDict options;

    g_variant_dict_init(&options, NULL);
    if (version > 0)
        g_variant_dict_insert(&options, "version", "u", version);
    call(play, BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "OpenSocket",
         g_variant_new("(@a{sv})", g_variant_dict_end(&options)));
}

/* The path of one of two buckets. */
static const char *
choose_path(guint chosen)
{
    return chosen & 64 ? BUS_BUCKET_PREFIX "/x" : BUS_BUCKET_PREFIX "/b";
}

static void
look_by_bus(Run *play)
{
    const guint chosen = take_byte(play);
    const char *path = choose_path(chosen);

    switch (chosen % 6) {
    case 0:
        call(play, path, BUS_LOCKS_INTERFACE, "Query", NULL);
        break;
    case 1:
        call(play, path, BUS_LOCKS_INTERFACE, "Inspect", g_variant_new_parsed("(@a{sv} {},)"));
        break;
    case 2:
        call(play, path, BUS_LOCKS_INTERFACE, "Watch",
             g_variant_new("(b)", chosen & 128 ? TRUE : FALSE));
        break;
    case 3:
        call(play, BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "Buckets", NULL);
        break;
    case 4:
        call(play, BUS_SERVICE_PATH, BUS_SERVICE_INTERFACE, "Resync", NULL);
        break;
    default:
        call(play, BUS_SERVICE_PATH, "org.freedesktop.DBus.Peer", "Ping", NULL);
    }
}

static void
lock_by_bus(Run *play)
{
    const guint chosen = take_byte(play), number = take_byte(play);
    const char *path = choose_path(chosen);
    GVariantDict options;

    if (chosen & 1) {
        call(play, path, BUS_LOCKS_INTERFACE,
             chosen & 2    ? "Release"
             : chosen & 16 ? "Downgrade"
                           : "Abort",
             g_variant_new("(t)", (guint64)number));
        return;
    }
    g_variant_dict_init(&options, NULL);
    if (number > 0)
        g_variant_dict_insert(&options, BUS_OPTION_KEY, "t", (guint64)number);
    if (chosen & 4)
        g_variant_dict_insert(&options, BUS_OPTION_STEAL, "b", TRUE);
    if (chosen & 32)
        g_variant_dict_insert(&options, BUS_OPTION_SLOTS, "u", 2u);
    call(play, path, BUS_LOCKS_INTERFACE, "Request",
         g_variant_new("(s@a{sv})", chosen & 8 ? "x" : "y", g_variant_dict_end(&options)));
}

static void
close_socket(Run *play)
{
    party_close(play->party);
}

static void
be_deaf(Run *play)
{
    play->party->is_deaf = !play->party->is_deaf;
}

static void
leave_or_come_back(Run *play)
{
    if (play->party->is_there) {
        socket_world_leave(&play->world, play->party);
        return;
    }
    socket_world_serve(&play->world);
    party_close(play->party);
    socket_world_come_back(&play->world, play->party);
}

static void (*const steps[])(Run *play) = {
    add_bytes,         add_request,        add_call_with_key, add_sync,    add_end,
    spoil_byte,        cut_packet,         repeat_packet,     send_packet, serve,
    send_packet_often, open_socket,        look_by_bus,       lock_by_bus, close_socket,
    be_deaf,           leave_or_come_back,
};

/* ---- an input */

static int
lowest_free_descriptor(void)
{
    const int fd = dup(STDOUT_FILENO);

    close(fd);
    return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int descriptor = lowest_free_descriptor();
    Run play = {.at = data, .left = size};
    gboolean is_shutdown;

    is_shutdown = (take_byte(&play) & 1) != 0;
    play.packet = g_byte_array_new();
    socket_world_init(&play.world);
    while (play.left > 0) {
        const guint chosen = take_byte(&play);

        play.party = &play.world.parties[chosen >> 7];
        steps[(chosen & 127) % G_N_ELEMENTS(steps)](&play);
    }
    socket_world_fini(&play.world, is_shutdown);
    g_byte_array_unref(play.packet);
    g_assert_cmpint(lowest_free_descriptor(), ==, descriptor);
    return 0;
}
