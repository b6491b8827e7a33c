/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* packet: each kind of message written and read, the layouts of docs/socket-protocol.md, each way
 * in which a message can be malformed, and random bytes. */

#include <string.h>

#include "tests/unit/core-fixture.h"
#include "tests/unit/packet-bytes.h"
#include "tests/unit/packet-copy.h"

typedef const PacketHead *(*Read)(const void *packet, gsize size, gsize *offset);

/* The only message of a packet; NULL if it is malformed. */
static const PacketHead *
read_one(Read read, const GByteArray *bytes)
{
    gsize offset = 0;
    const PacketHead *message = read(bytes->data, bytes->len, &offset);

    if (message != NULL) {
        g_assert_cmpuint(offset, ==, bytes->len);
        g_assert_cmpuint(message->size, ==, bytes->len);
    } else {
        g_assert_cmpuint(offset, ==, 0);
    }
    /* cppcheck-suppress returnDanglingLifetime ; it points into the bytes */
    return message;
}

/* ---- layouts */

typedef struct {
    gsize offset;
    gsize width;
    guint64 value;
} Field;

static void
check_layout(const GByteArray *bytes, gsize size, const Field *fields, gsize n_fields)
{
    g_assert_cmpuint(bytes->len, ==, size);
    for (gsize i = 0; i < n_fields; i++)
        if (packet_bytes_get_number(bytes, fields[i].offset, fields[i].width) != fields[i].value)
            g_error("at %zu: 0x%" G_GINT64_MODIFIER "x instead of 0x%" G_GINT64_MODIFIER "x",
                    fields[i].offset,
                    packet_bytes_get_number(bytes, fields[i].offset, fields[i].width),
                    fields[i].value);
}

#define LAYOUT(bytes, size, ...)                            \
    check_layout(bytes, size, (const Field[]){__VA_ARGS__}, \
                 G_N_ELEMENTS(((const Field[]){__VA_ARGS__})))

/* Offsets and sizes as in the document, independent of the header. */
static void
test_layout_client(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    packet_write_request(bytes, 0x1122334455667788, 0x99aabbccddeeff01, 0xfffffffe,
                         LOCK_MODE_SHARED, PACKET_OPTION_SIGNAL, "office", "printer", "to print");
    LAYOUT(bytes, 64, {0, 2, 2}, {2, 2, 0}, {4, 4, 64}, {8, 8, 0x1122334455667788},
           {16, 8, 0x99aabbccddeeff01}, {24, 4, 0xfffffffe}, {28, 1, 1}, {29, 1, 4}, {30, 2, 6},
           {32, 2, 7}, {34, 2, 8}, {36, 4, 0});
    g_assert_cmpmem(bytes->data + 40, 24, "officeprinterto print\0\0\0", 24);

    g_byte_array_set_size(bytes, 0);
    packet_write_key(bytes, PACKET_ABORT, PACKET_FLAG_NO_ANSWER, 3, 4);
    LAYOUT(bytes, 24, {0, 2, 4}, {2, 2, 1}, {16, 8, 4});
}

static void
test_layout_service(void)
{
    const PacketAnswer answer = {
        .head.serial = 9,
        .error = PACKET_ERROR_LIMITS_EXCEEDED,
        .limit = 3,
        .token = 0x0102030405060708,
        .state = PACKET_STATE_HELD,
        .aborted = 1,
    };
    const PacketLiveEntry entry = {
        .key = 6, .token = 7, .time_left_ms = 8, .state = PACKET_STATE_HELD};
    g_autoptr(GByteArray) bytes = g_byte_array_new();

    packet_write_answer(bytes, &answer);
    LAYOUT(bytes, 40, {0, 2, 65}, {8, 8, 9}, {16, 4, 5}, {20, 4, 3}, {24, 8, 0x0102030405060708},
           {32, 1, 2}, {33, 1, 1});

    g_byte_array_set_size(bytes, 0);
    packet_write_granted(bytes, 10, 11);
    LAYOUT(bytes, 32, {0, 2, 66}, {16, 8, 10}, {24, 8, 11});

    g_byte_array_set_size(bytes, 0);
    packet_write_ended(bytes, 12, PACKET_REASON_LOST);
    LAYOUT(bytes, 32, {0, 2, 67}, {16, 8, 12}, {24, 4, 4});

    g_byte_array_set_size(bytes, 0);
    packet_write_live(bytes, &entry, 1, TRUE);
    LAYOUT(bytes, 48, {0, 2, 68}, {16, 4, 1}, {20, 4, 1}, {24, 8, 6}, {32, 8, 7}, {40, 4, 8},
           {44, 4, 2});

    g_byte_array_set_size(bytes, 0);
    packet_write_closed(bytes, PACKET_CLOSED_SHUTDOWN);
    LAYOUT(bytes, 24, {0, 2, 69}, {16, 4, 3});
}

/* ---- round trips */

static void
assert_text(const char **text, gsize length, const char *expected)
{
    g_assert_cmpmem(*text, length, expected, expected != NULL ? strlen(expected) : 0);
    *text += length;
}

static void
round_trip_request(const char *bucket, const char *name, const char *why, gsize size)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    const PacketRequest *request;
    const char *text;

    packet_write_request(bytes, 1, G_MAXUINT64, G_MAXUINT32, LOCK_MODE_EXCLUSIVE,
                         PACKET_OPTIONS_ALL, bucket, name, why);
    g_assert_cmpuint(bytes->len, ==, size);
    request = (const PacketRequest *)read_one(packet_read_from_client, bytes);
    g_assert_nonnull(request);
    g_assert_cmpuint(request->key, ==, G_MAXUINT64);
    g_assert_cmpuint(request->timeout_ms, ==, G_MAXUINT32);
    g_assert_cmpuint(request->options, ==, PACKET_OPTIONS_ALL);
    text = request->text;
    assert_text(&text, request->bucket_length, bucket);
    assert_text(&text, request->name_length, name);
    assert_text(&text, request->why_length, why);
}

static void
test_request(void)
{
    /* The longest possible name, which fills a packet to the last 8 bytes. */
    g_autofree char *longest = g_strnfill(65535 - 40, 'n');
    g_autofree char *wide = g_strnfill(32000, 'w');

    round_trip_request("b", "", NULL, 48);
    round_trip_request("b", "", "w", 48);
    round_trip_request("b", "123456", NULL, 48);
    round_trip_request("b", "1234567", NULL, 48);
    round_trip_request("b", "1234567", "9", 56);
    round_trip_request("ö", "ä\xf0\x9f\x94\x92", "\xe2\x82\xac", 56);
    round_trip_request("b", longest, NULL, 65536);
    round_trip_request("b", wide, wide + 8, 64040);
    /* Refused with a typed error: U+FFFF, and the lengths of a bucket. */
    round_trip_request("\xef\xbf\xbf", "\xef\xbf\xbf", "\xef\xbf\xbf", 56);
    round_trip_request("", "", NULL, 40);
    round_trip_request(wide, "x", NULL, 32048);
}

static void
test_live(void)
{
    g_autofree PacketLiveEntry *entries = g_new0(PacketLiveEntry, PACKET_LIVE_ENTRIES_MAX);
    const guint sizes[] = {0, 1, 2, PACKET_LIVE_ENTRIES_MAX};

    for (guint i = 0; i < PACKET_LIVE_ENTRIES_MAX; i++) {
        entries[i].key = i + 1;
        entries[i].token = i % 2 != 0 ? i : 0;
        entries[i].time_left_ms = i;
        entries[i].state = i % 2 != 0 ? PACKET_STATE_HELD : PACKET_STATE_WAITS;
    }
    for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        const PacketLive *live;

        packet_write_live(bytes, entries, sizes[i], i % 2 != 0);
        g_assert_cmpuint(bytes->len, <=, PACKET_BYTES_MAX);
        live = (const PacketLive *)read_one(packet_read_from_service, bytes);
        g_assert_nonnull(live);
        g_assert_cmpuint(live->more, ==, i % 2);
        g_assert_cmpmem(live->entries, live->n_entries * sizeof *live->entries, entries,
                        sizes[i] * sizeof *entries);
    }
}

/* Messages that do not fit into one packet are put into the next; no message is split. */
static void
test_length(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree char *name = g_strnfill(3000, 'n');
    gsize offset = 0, n_packets = 0;
    guint n_messages = 0;

    g_assert_cmpuint(packet_get_length(bytes, 0, PACKET_BYTES_MAX), ==, 0);
    for (guint i = 0; i < 100; i++)
        packet_write_request(bytes, i, i + 1, 0, LOCK_MODE_SHARED, 0, "b", name, NULL);
    while (offset < bytes->len) {
        const gsize length = packet_get_length(bytes, offset, PACKET_BYTES_MAX);

        g_assert_cmpuint(length, >, 0);
        g_assert_cmpuint(length, <=, PACKET_BYTES_MAX);
        n_messages += packet_check_from_client(bytes->data + offset, length);
        offset += length;
        n_packets++;
    }
    g_assert_cmpuint(offset, ==, bytes->len);
    g_assert_cmpuint(n_messages, ==, 100);
    g_assert_cmpuint(n_packets, ==, 5); /* 21 of 3,048 bytes each */
}

/* ---- malformed */

/* A field of an otherwise valid message of the service is set to a value. Those of clients are in
 * ../bus/test_socket_malformed.py. */
typedef struct {
    PacketKind kind;
    const char *what;
    gsize offset;
    gsize width;
    guint64 value;
} Case;

static const Case service_cases[] = {
    {PACKET_ANSWER, "an unknown error", 16, 4, N_PACKET_ERRORS},
    {PACKET_ANSWER, "an unknown state", 32, 1, 3},
    {PACKET_ANSWER, "held without a token", 24, 8, 0},
    {PACKET_ANSWER, "a token without being held", 32, 1, 1},
    {PACKET_ANSWER, "a kind of the client", 0, 2, PACKET_SYNC},
    {PACKET_GRANTED, "no token", 24, 8, 0},
    {PACKET_GRANTED, "too small", 4, 4, 24},
    {PACKET_ENDED, "too small", 4, 4, 24},
    {PACKET_LIVE, "more is 2", 20, 4, 2},
    {PACKET_LIVE, "more entries than there are", 16, 4, 3},
    {PACKET_LIVE, "fewer entries than there are", 16, 4, 1},
    {PACKET_LIVE, "so many that the size wraps around", 16, 4, 0x40000002},
    {PACKET_LIVE, "an entry without key", 24, 8, 0},
    {PACKET_LIVE, "held without a token", 32, 8, 0},
    {PACKET_LIVE, "of no state", 44, 4, 0},
    {PACKET_LIVE, "of an unknown state", 44, 4, 3},
    {PACKET_LIVE, "a token without being held", 44, 4, 1},
    {PACKET_CLOSED, "too small", 4, 4, 16},
    {PACKET_CLOSED, "an unknown kind", 0, 2, 70},
};

/* A valid message of each kind. */
static GByteArray *
make_message(PacketKind kind)
{
    static const PacketLiveEntry entries[] = {
        {.key = 1, .token = 1, .state = PACKET_STATE_HELD},
        {.key = 2, .state = PACKET_STATE_WAITS},
    };
    const PacketAnswer answer = {.token = 1, .state = PACKET_STATE_HELD};
    GByteArray *bytes = g_byte_array_new();

    switch (kind) {
    case PACKET_REQUEST: /* with one byte of padding */
        packet_write_request(bytes, 1, 2, 4, LOCK_MODE_EXCLUSIVE, 0, "office", "printer",
                             "ten bytes.");
        break;
    case PACKET_RELEASE:
    case PACKET_ABORT:
        packet_write_key(bytes, kind, 0, 1, 2);
        break;
    case PACKET_SYNC:
    case PACKET_END:
        packet_write_head(bytes, kind, 1);
        break;
    case PACKET_ANSWER:
        packet_write_answer(bytes, &answer);
        break;
    case PACKET_GRANTED:
        packet_write_granted(bytes, 1, 2);
        break;
    case PACKET_ENDED:
        packet_write_ended(bytes, 1, PACKET_REASON_TIMEOUT);
        break;
    case PACKET_LIVE:
        packet_write_live(bytes, entries, G_N_ELEMENTS(entries), FALSE);
        break;
    case PACKET_CLOSED:
        packet_write_closed(bytes, PACKET_CLOSED_MALFORMED);
        break;
    default:
        g_assert_not_reached();
    }
    return bytes;
}

static void
test_malformed(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(service_cases); i++) {
        const Case *one = &service_cases[i];
        g_autoptr(GByteArray) bytes = make_message(one->kind);

        g_assert_nonnull(read_one(packet_read_from_service, bytes));
        packet_bytes_set_number(bytes, one->offset, one->width, one->value);
        if (read_one(packet_read_from_service, bytes) != NULL)
            g_error("kind %u, %s: expected it to be malformed", one->kind, one->what);
    }
}

static const PacketKind all_kinds[] = {
    PACKET_REQUEST, PACKET_RELEASE, PACKET_ABORT, PACKET_SYNC, PACKET_END,
    PACKET_ANSWER,  PACKET_GRANTED, PACKET_ENDED, PACKET_LIVE, PACKET_CLOSED,
};

/* Messages of the client are accepted by the service only, and those of the service by the client
 * only. */
static void
test_direction(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(all_kinds); i++) {
        g_autoptr(GByteArray) bytes = make_message(all_kinds[i]);
        const gboolean is_of_client = all_kinds[i] < PACKET_ANSWER;

        g_assert_cmpint(read_one(packet_read_from_client, bytes) != NULL, ==, is_of_client);
        g_assert_cmpint(read_one(packet_read_from_service, bytes) != NULL, ==, !is_of_client);
    }
}

/* A packet that ends anywhere in a message, and a message of any other size than its own. */
static void
test_sizes(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(all_kinds); i++) {
        const gboolean is_of_client = all_kinds[i] < PACKET_ANSWER;
        g_autoptr(GByteArray) bytes = make_message(all_kinds[i]);
        const guint size = bytes->len;

        for (guint n = 1; n < size; n++) {
            g_assert_cmpuint(packet_check_from_client(bytes->data, n), ==, 0);
            g_assert_cmpuint(packet_check_from_service(bytes->data, n), ==, 0);
        }
        /* With zeros after the message, which its header may include or not. */
        g_byte_array_set_size(bytes, size + 64);
        memset(bytes->data + size, 0, 64);
        for (guint n = 0; n <= size + 64; n++) {
            packet_bytes_set_number(bytes, 4, 4, n);
            g_assert_cmpuint(packet_check_from_client(bytes->data, bytes->len), ==,
                             is_of_client && n == size);
            g_assert_cmpuint(packet_check_from_service(bytes->data, bytes->len), ==,
                             !is_of_client && n == size);
        }
    }
}

/* ---- random */

/* Valid messages with some bytes changed, with a valid size more often than by chance. What is read
 * must meet the conditions in packet-copy.h. */
static void
test_random(void)
{
    const guint n_rounds = fixture_get_size(200000);
    guint n_read = 0, n_refused = 0;

    for (guint round = 0; round < n_rounds; round++) {
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        const guint n_messages = (guint)g_test_rand_int_range(1, 4);
        guint n;

        for (guint i = 0; i < n_messages; i++) {
            const gint kind = g_test_rand_int_range(0, G_N_ELEMENTS(all_kinds));
            g_autoptr(GByteArray) message = make_message(all_kinds[kind]);

            g_byte_array_append(bytes, message->data, message->len);
        }
        packet_bytes_change_some(bytes);
        if (g_test_rand_int_range(0, 8) == 0)
            g_byte_array_set_size(bytes, (guint)g_test_rand_int_range(1, (gint)bytes->len + 1));
        n = packet_check_from_client(bytes->data, bytes->len) +
            packet_check_from_service(bytes->data, bytes->len);
        n_read += n;
        n_refused += n < n_messages;
    }
    /* Otherwise nothing was tested. */
    g_assert_cmpuint(n_read, >, n_rounds / 4);
    g_assert_cmpuint(n_refused, >, n_rounds / 4);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/packet/layout/client", test_layout_client);
    g_test_add_func("/packet/layout/service", test_layout_service);
    g_test_add_func("/packet/request", test_request);
    g_test_add_func("/packet/live", test_live);
    g_test_add_func("/packet/length", test_length);
    g_test_add_func("/packet/malformed", test_malformed);
    g_test_add_func("/packet/direction", test_direction);
    g_test_add_func("/packet/sizes", test_sizes);
    g_test_add_func("/packet/random", test_random);
    return g_test_run();
}
