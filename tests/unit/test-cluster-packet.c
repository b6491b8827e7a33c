/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* cluster-packet: each kind of message written and read, its layout, each way in which a message
 * can be malformed, and random bytes. */

#include <string.h>

#include "tests/unit/cluster-packet-copy.h"
#include "tests/unit/core-fixture.h"
#include "tests/unit/packet-bytes.h"

/* A valid message of each kind. */
static GByteArray *
make_message(ClusterPacketKind kind)
{
    const ClusterDemand demand = {
        .handle = 0x1122334455667788,
        .block = 5,
        .number = 6,
        .uid = 1000,
        .want = PERMIT_SHARED,
        .held = PERMIT_NONE,
        .undecided = UNDECIDED_IF_AVAILABLE,
        .n_waiting = 3,
    };
    GByteArray *bytes = g_byte_array_new();
    guint offset;

    switch (kind) {
    case CLUSTER_PACKET_HELLO:
        cluster_packet_write_hello(bytes);
        break;
    case CLUSTER_PACKET_DEMAND:
        cluster_packet_write_demand(bytes, &demand, "render", "frame 1");
        break;
    case CLUSTER_PACKET_READY:
    case CLUSTER_PACKET_SYNCED:
        cluster_packet_write_head(bytes, kind);
        break;
    case CLUSTER_PACKET_ACK:
        cluster_packet_write_ack(bytes, 7);
        break;
    case CLUSTER_PACKET_LIST:
        cluster_packet_write_list(bytes, 7, 1000, "render");
        break;
    case CLUSTER_PACKET_BREAK:
        cluster_packet_write_break(bytes, 7, 1000, "render", "x", "e-1-2-3");
        break;
    case CLUSTER_PACKET_LEASE:
        cluster_packet_write_lease(bytes, 7, 5000000, CLUSTER_STATE_SUSPECT,
                                   CLUSTER_REASON_SERVICE);
        break;
    case CLUSTER_PACKET_PERMIT:
        cluster_packet_write_permit(bytes, 9, PERMIT_EXCLUSIVE, 5000000, 12);
        break;
    case CLUSTER_PACKET_YIELD:
        cluster_packet_write_yield(bytes, 9, TRUE);
        break;
    case CLUSTER_PACKET_REVOKED:
        cluster_packet_write_revoked(bytes, 9, CLUSTER_REVOKED_LOST);
        break;
    case CLUSTER_PACKET_BUSY:
    case CLUSTER_PACKET_GONE:
        cluster_packet_write_reply(bytes, kind, 9, 6);
        break;
    case CLUSTER_PACKET_ROWS:
        offset = cluster_packet_begin_rows(bytes, 7);
        cluster_packet_add_row(bytes, &offset, PERMIT_SHARED, CLUSTER_ROW_HOLDS, 17, "node1", "xy");
        cluster_packet_add_row(bytes, &offset, PERMIT_EXCLUSIVE, CLUSTER_ROW_WAITS, 18, "node2",
                               "");
        break;
    case CLUSTER_PACKET_STATE:
        cluster_packet_write_status(bytes, CLUSTER_STATE_SUSPECT, "zk1:2181", "node1\nnode2");
        break;
    case CLUSTER_PACKET_BROKEN:
        cluster_packet_write_broken(bytes, 7, 2, TRUE);
        break;
    default:
        g_assert_not_reached();
    }
    return bytes;
}

static const ClusterPacketKind all_kinds[] = {
    CLUSTER_PACKET_HELLO,  CLUSTER_PACKET_DEMAND,  CLUSTER_PACKET_READY, CLUSTER_PACKET_ACK,
    CLUSTER_PACKET_LIST,   CLUSTER_PACKET_BREAK,   CLUSTER_PACKET_LEASE, CLUSTER_PACKET_PERMIT,
    CLUSTER_PACKET_YIELD,  CLUSTER_PACKET_REVOKED, CLUSTER_PACKET_BUSY,  CLUSTER_PACKET_GONE,
    CLUSTER_PACKET_SYNCED, CLUSTER_PACKET_ROWS,    CLUSTER_PACKET_STATE, CLUSTER_PACKET_BROKEN,
};

static gboolean
is_from_service(ClusterPacketKind kind)
{
    return kind < CLUSTER_PACKET_LEASE;
}

/* ---- layouts */

typedef struct {
    ClusterPacketKind kind;
    gsize offset;
    gsize width; /* 0: the end of the message */
    guint64 value;
} Field;

/* Offsets and sizes, independent of those in the header. */
static const Field fields[] = {
    {CLUSTER_PACKET_HELLO, 0, 2, 1},
    {CLUSTER_PACKET_HELLO, 8, 4, 1},
    {CLUSTER_PACKET_HELLO, 12, 4, 0},
    {CLUSTER_PACKET_HELLO, 16, 0, 0},
    {CLUSTER_PACKET_DEMAND, 0, 2, 2},
    {CLUSTER_PACKET_DEMAND, 4, 4, 64},
    {CLUSTER_PACKET_DEMAND, 8, 8, 0x1122334455667788},
    {CLUSTER_PACKET_DEMAND, 16, 8, 5},
    {CLUSTER_PACKET_DEMAND, 24, 4, 1000},
    {CLUSTER_PACKET_DEMAND, 28, 4, 6},
    {CLUSTER_PACKET_DEMAND, 32, 1, 1},
    {CLUSTER_PACKET_DEMAND, 33, 1, 0},
    {CLUSTER_PACKET_DEMAND, 34, 1, 1},
    {CLUSTER_PACKET_DEMAND, 35, 1, 0},
    {CLUSTER_PACKET_DEMAND, 36, 2, 6},
    {CLUSTER_PACKET_DEMAND, 38, 2, 7},
    {CLUSTER_PACKET_DEMAND, 40, 4, 3},
    {CLUSTER_PACKET_DEMAND, 48, 1, 'r'},
    {CLUSTER_PACKET_DEMAND, 54, 1, 0},
    {CLUSTER_PACKET_DEMAND, 55, 1, 'f'},
    {CLUSTER_PACKET_DEMAND, 64, 0, 0},
    {CLUSTER_PACKET_READY, 0, 2, 3},
    {CLUSTER_PACKET_READY, 8, 0, 0},
    {CLUSTER_PACKET_ACK, 0, 2, 4},
    {CLUSTER_PACKET_ACK, 8, 8, 7},
    {CLUSTER_PACKET_ACK, 16, 0, 0},
    {CLUSTER_PACKET_LIST, 0, 2, 5},
    {CLUSTER_PACKET_LIST, 8, 8, 7},
    {CLUSTER_PACKET_LIST, 16, 4, 1000},
    {CLUSTER_PACKET_LIST, 20, 2, 6},
    {CLUSTER_PACKET_LIST, 24, 1, 'r'},
    {CLUSTER_PACKET_LIST, 32, 0, 0},
    {CLUSTER_PACKET_BREAK, 0, 2, 6},
    {CLUSTER_PACKET_BREAK, 8, 8, 7},
    {CLUSTER_PACKET_BREAK, 16, 4, 1000},
    {CLUSTER_PACKET_BREAK, 20, 2, 6},
    {CLUSTER_PACKET_BREAK, 22, 2, 1},
    {CLUSTER_PACKET_BREAK, 24, 2, 7},
    {CLUSTER_PACKET_BREAK, 32, 1, 'r'},
    {CLUSTER_PACKET_BREAK, 39, 1, 'x'},
    {CLUSTER_PACKET_BREAK, 41, 1, 'e'},
    {CLUSTER_PACKET_BREAK, 56, 0, 0},
    {CLUSTER_PACKET_LEASE, 0, 2, 65},
    {CLUSTER_PACKET_LEASE, 8, 8, 7},
    {CLUSTER_PACKET_LEASE, 16, 8, 5000000},
    {CLUSTER_PACKET_LEASE, 24, 4, 3},
    {CLUSTER_PACKET_LEASE, 28, 4, 3},
    {CLUSTER_PACKET_LEASE, 32, 0, 0},
    {CLUSTER_PACKET_PERMIT, 0, 2, 66},
    {CLUSTER_PACKET_PERMIT, 8, 8, 9},
    {CLUSTER_PACKET_PERMIT, 16, 4, 2},
    {CLUSTER_PACKET_PERMIT, 24, 8, 5000000},
    {CLUSTER_PACKET_PERMIT, 32, 8, 12},
    {CLUSTER_PACKET_PERMIT, 40, 0, 0},
    {CLUSTER_PACKET_YIELD, 0, 2, 67},
    {CLUSTER_PACKET_YIELD, 8, 8, 9},
    {CLUSTER_PACKET_YIELD, 16, 4, 1},
    {CLUSTER_PACKET_YIELD, 24, 0, 0},
    {CLUSTER_PACKET_REVOKED, 0, 2, 68},
    {CLUSTER_PACKET_REVOKED, 8, 8, 9},
    {CLUSTER_PACKET_REVOKED, 16, 4, 2},
    {CLUSTER_PACKET_REVOKED, 24, 0, 0},
    {CLUSTER_PACKET_BUSY, 0, 2, 69},
    {CLUSTER_PACKET_BUSY, 8, 8, 9},
    {CLUSTER_PACKET_BUSY, 16, 4, 6},
    {CLUSTER_PACKET_BUSY, 24, 0, 0},
    {CLUSTER_PACKET_GONE, 0, 2, 70},
    {CLUSTER_PACKET_SYNCED, 0, 2, 71},
    {CLUSTER_PACKET_SYNCED, 8, 0, 0},
    {CLUSTER_PACKET_ROWS, 0, 2, 72},
    {CLUSTER_PACKET_ROWS, 8, 8, 7},
    {CLUSTER_PACKET_ROWS, 16, 4, 2},
    {CLUSTER_PACKET_ROWS, 20, 4, 0},
    {CLUSTER_PACKET_ROWS, 24, 1, 1},
    {CLUSTER_PACKET_ROWS, 25, 1, 1},
    {CLUSTER_PACKET_ROWS, 26, 2, 5},
    {CLUSTER_PACKET_ROWS, 28, 2, 2},
    {CLUSTER_PACKET_ROWS, 30, 2, 0},
    {CLUSTER_PACKET_ROWS, 32, 8, 17},
    {CLUSTER_PACKET_ROWS, 40, 1, 'n'},
    {CLUSTER_PACKET_ROWS, 46, 1, 'x'},
    {CLUSTER_PACKET_ROWS, 56, 1, 2},
    {CLUSTER_PACKET_ROWS, 80, 0, 0},
    {CLUSTER_PACKET_STATE, 0, 2, 73},
    {CLUSTER_PACKET_STATE, 8, 4, 3},
    {CLUSTER_PACKET_STATE, 12, 2, 8},
    {CLUSTER_PACKET_STATE, 14, 2, 11},
    {CLUSTER_PACKET_STATE, 16, 1, 'z'},
    {CLUSTER_PACKET_STATE, 25, 1, 'n'},
    {CLUSTER_PACKET_STATE, 40, 0, 0},
    {CLUSTER_PACKET_BROKEN, 0, 2, 74},
    {CLUSTER_PACKET_BROKEN, 8, 8, 7},
    {CLUSTER_PACKET_BROKEN, 16, 4, 2},
    {CLUSTER_PACKET_BROKEN, 20, 4, 1},
    {CLUSTER_PACKET_BROKEN, 24, 0, 0},
};

static void
test_layout(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
        const Field *field = &fields[i];
        g_autoptr(GByteArray) bytes = make_message(field->kind);

        if (field->width == 0)
            g_assert_cmpuint(bytes->len, ==, field->offset);
        else if (field->offset + field->width > bytes->len ||
                 packet_bytes_get_number(bytes, field->offset, field->width) != field->value)
            g_error("kind %u, at %zu: not 0x%" G_GINT64_MODIFIER "x", field->kind, field->offset,
                    field->value);
    }
}

/* ---- round trips */

static gboolean
check_from_any(const GByteArray *bytes)
{
    gboolean is_of_service = cluster_packet_check_from_service(bytes->data, bytes->len);

    /* A packet is accepted in its own direction only. */
    g_assert_false(is_of_service && cluster_packet_check_from_gateway(bytes->data, bytes->len));
    return is_of_service || cluster_packet_check_from_gateway(bytes->data, bytes->len);
}

static void
test_direction(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(all_kinds); i++) {
        g_autoptr(GByteArray) bytes = make_message(all_kinds[i]);
        gboolean expected = is_from_service(all_kinds[i]);

        g_assert_cmpint(cluster_packet_check_from_service(bytes->data, bytes->len), ==, expected);
        g_assert_cmpint(cluster_packet_check_from_gateway(bytes->data, bytes->len), ==, !expected);
    }
}

static void
test_texts(void)
{
    g_autofree char *longest = g_strnfill(CLUSTER_NAME_BYTES_MAX, 'n');
    g_autofree char *too_long = g_strnfill(CLUSTER_NAME_BYTES_MAX + 1, 'n');
    const struct {
        const char *bucket;
        const char *name;
        gboolean is_good;
    } cases[] = {
        {"b", "", TRUE},          {"b", "x", TRUE},
        {"b", longest, TRUE},     {"b", too_long, FALSE},
        {"", "x", FALSE},         {"b", "\xc3\xa4\xf0\x9f\x94\x92", TRUE},
        {"b", "\xc3", FALSE},     {"b", "\xef\xbf\xbf", FALSE}, /* U+FFFF: not valid in D-Bus */
        {"b", "\xc0\xaf", FALSE},
    };

    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        const ClusterDemand demand = {.handle = 1, .number = 1, .want = PERMIT_EXCLUSIVE};
        g_autoptr(GByteArray) bytes = g_byte_array_new();
        const ClusterDemand *copy;

        cluster_packet_write_demand(bytes, &demand, cases[i].bucket, cases[i].name);
        copy = (const ClusterDemand *)cluster_packet_read_from_service(bytes->data, bytes->len);
        if ((copy != NULL) != cases[i].is_good)
            g_error("case %u: expected it to be %s", i, cases[i].is_good ? "read" : "malformed");
        if (copy != NULL) {
            g_assert_cmpstr(cluster_demand_get_bucket(copy), ==, cases[i].bucket);
            g_assert_cmpstr(cluster_demand_get_name(copy), ==, cases[i].name);
        }
    }
}

static void
test_accessors(void)
{
    g_autoptr(GByteArray) to_break = make_message(CLUSTER_PACKET_BREAK);
    g_autoptr(GByteArray) status = make_message(CLUSTER_PACKET_STATE);
    g_autoptr(GByteArray) rows = make_message(CLUSTER_PACKET_ROWS);
    const ClusterRow *row = cluster_rows_next((const ClusterRows *)rows->data, NULL);

    g_assert_cmpstr(cluster_break_get_bucket((const ClusterBreak *)to_break->data), ==, "render");
    g_assert_cmpstr(cluster_break_get_name((const ClusterBreak *)to_break->data), ==, "x");
    g_assert_cmpstr(cluster_break_get_host((const ClusterBreak *)to_break->data), ==, "e-1-2-3");
    g_assert_cmpstr(cluster_status_get_engine((const ClusterStatus *)status->data), ==, "zk1:2181");
    g_assert_cmpstr(cluster_status_get_hosts((const ClusterStatus *)status->data), ==,
                    "node1\nnode2");
    g_assert_cmpstr(cluster_row_get_host(row), ==, "node1");
    row = cluster_rows_next((const ClusterRows *)rows->data, row);
    g_assert_cmpstr(cluster_row_get_host(row), ==, "node2");
    g_assert_cmpstr(cluster_row_get_name(row), ==, "");
    g_assert_cmpint(row->since_us, ==, 18);
}

/* Rows that don't fit into one packet go into the next. */
static void
test_many_rows(void)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autofree char *name = g_strnfill(3000, 'n');
    guint offset = cluster_packet_begin_rows(bytes, 5);
    guint n_rows = 0, n_packets = 0;

    for (guint i = 0; i < 100; i++)
        cluster_packet_add_row(bytes, &offset, PERMIT_SHARED, CLUSTER_ROW_HOLDS, i, "host", name);
    for (offset = 0; offset < bytes->len; n_packets++) {
        const guint32 size = ((const ClusterHead *)(bytes->data + offset))->size;
        const ClusterRows *rows =
            (const ClusterRows *)cluster_packet_read_from_gateway(bytes->data + offset, size);

        g_assert_nonnull(rows);
        g_assert_true(cluster_packet_check_from_gateway(rows, size));
        g_assert_cmpuint(rows->serial, ==, 5);
        g_assert_cmpint(cluster_rows_next(rows, NULL)->since_us, ==, n_rows);
        n_rows += rows->n_rows;
        offset += size;
        g_assert_cmpuint(rows->more, ==, offset < bytes->len);
    }
    g_assert_cmpuint(n_rows, ==, 100);
    g_assert_cmpuint(n_packets, ==, 5); /* 21 of 3,024 bytes each */
}

/* ---- malformed */

typedef struct {
    ClusterPacketKind kind;
    const char *what;
    gsize offset;
    gsize width;
    guint64 value;
    gboolean is_good; /* TRUE: the nearest value that is valid */
} Case;

static const Case cases[] = {
    {CLUSTER_PACKET_HELLO, "another version", 8, 4, 2, TRUE},
    {CLUSTER_PACKET_HELLO, "reserved", 12, 4, 1},
    {CLUSTER_PACKET_DEMAND, "a flag in the head", 2, 2, 1},
    {CLUSTER_PACKET_DEMAND, "handle 0", 8, 8, 0},
    {CLUSTER_PACKET_DEMAND, "no block", 16, 8, 0, TRUE},
    {CLUSTER_PACKET_DEMAND, "beyond the last block", 16, 8, CLUSTER_BLOCK_MAX + 1},
    {CLUSTER_PACKET_DEMAND, "number 0", 28, 4, 0},
    {CLUSTER_PACKET_DEMAND, "want is exclusive", 32, 1, 2, TRUE},
    {CLUSTER_PACKET_DEMAND, "want is unknown", 32, 1, 3},
    {CLUSTER_PACKET_DEMAND, "undecided, but wants nothing", 32, 1, 0},
    {CLUSTER_PACKET_DEMAND, "held is exclusive", 33, 1, 2, TRUE},
    {CLUSTER_PACKET_DEMAND, "held is unknown", 33, 1, 3},
    {CLUSTER_PACKET_DEMAND, "a steal", 34, 1, 2, TRUE},
    {CLUSTER_PACKET_DEMAND, "undecided is unknown", 34, 1, 3},
    {CLUSTER_PACKET_DEMAND, "the turn is over", 35, 1, 1, TRUE},
    {CLUSTER_PACKET_DEMAND, "an unknown flag", 35, 1, 2},
    {CLUSTER_PACKET_DEMAND, "no bucket", 36, 2, 0},
    {CLUSTER_PACKET_DEMAND, "a bucket that is shorter", 36, 2, 5},
    {CLUSTER_PACKET_DEMAND, "a bucket that wraps around", 36, 2, G_MAXUINT16},
    {CLUSTER_PACKET_DEMAND, "a name that is shorter", 38, 2, 6},
    {CLUSTER_PACKET_DEMAND, "a name that is longer", 38, 2, 8},
    {CLUSTER_PACKET_DEMAND, "a name that reaches beyond the message", 38, 2, 9},
    {CLUSTER_PACKET_DEMAND, "reserved", 44, 4, 1},
    {CLUSTER_PACKET_DEMAND, "NUL in the bucket", 49, 1, 0},
    {CLUSTER_PACKET_DEMAND, "no NUL after the bucket", 54, 1, 'x'},
    {CLUSTER_PACKET_DEMAND, "not UTF-8", 56, 1, 0xff},
    {CLUSTER_PACKET_DEMAND, "padding", 63, 1, 1},
    {CLUSTER_PACKET_READY, "a flag", 2, 2, 1},
    {CLUSTER_PACKET_READY, "kind 0", 0, 2, 0},
    {CLUSTER_PACKET_READY, "kind 7", 0, 2, 7},
    {CLUSTER_PACKET_READY, "kind 64", 0, 2, 64},
    {CLUSTER_PACKET_READY, "kind 3 and something above it", 0, 2, 0x103},
    {CLUSTER_PACKET_LIST, "reserved", 22, 2, 1},
    {CLUSTER_PACKET_LIST, "no bucket", 20, 2, 0},
    {CLUSTER_PACKET_LIST, "padding", 31, 1, 1},
    {CLUSTER_PACKET_BREAK, "no host, but its text", 24, 2, 0},
    {CLUSTER_PACKET_BREAK, "reserved", 26, 2, 1},
    {CLUSTER_PACKET_BREAK, "reserved, the last", 30, 2, 0x8000},
    {CLUSTER_PACKET_BREAK, "padding", 55, 1, 1},
    {CLUSTER_PACKET_LEASE, "a deadline before the start", 16, 8, G_MAXUINT64},
    {CLUSTER_PACKET_LEASE, "no deadline", 16, 8, 0, TRUE},
    {CLUSTER_PACKET_LEASE, "state off", 24, 4, 0},
    {CLUSTER_PACKET_LEASE, "state lost", 24, 4, 4, TRUE},
    {CLUSTER_PACKET_LEASE, "an unknown state", 24, 4, 5},
    {CLUSTER_PACKET_LEASE, "no reason", 28, 4, 0, TRUE},
    {CLUSTER_PACKET_LEASE, "the last reason", 28, 4, 11, TRUE},
    {CLUSTER_PACKET_LEASE, "an unknown reason", 28, 4, 12},
    {CLUSTER_PACKET_LEASE, "a reason of the state active", 24, 4, 2},
    {CLUSTER_PACKET_PERMIT, "handle 0", 8, 8, 0},
    {CLUSTER_PACKET_PERMIT, "mode none", 16, 4, 0},
    {CLUSTER_PACKET_PERMIT, "mode shared", 16, 4, 1, TRUE},
    {CLUSTER_PACKET_PERMIT, "an unknown mode", 16, 4, 3},
    {CLUSTER_PACKET_PERMIT, "reserved", 20, 4, 1},
    {CLUSTER_PACKET_PERMIT, "no deadline", 24, 8, 0},
    {CLUSTER_PACKET_PERMIT, "a deadline before the start", 24, 8, G_MAXUINT64},
    {CLUSTER_PACKET_PERMIT, "block 0", 32, 8, 0},
    {CLUSTER_PACKET_PERMIT, "the last block", 32, 8, CLUSTER_BLOCK_MAX, TRUE},
    {CLUSTER_PACKET_PERMIT, "beyond the last block", 32, 8, CLUSTER_BLOCK_MAX + 1},
    {CLUSTER_PACKET_YIELD, "handle 0", 8, 8, 0},
    {CLUSTER_PACKET_YIELD, "now is 2", 16, 4, 2},
    {CLUSTER_PACKET_YIELD, "reserved", 20, 4, 1},
    {CLUSTER_PACKET_REVOKED, "handle 0", 8, 8, 0},
    {CLUSTER_PACKET_REVOKED, "no reason", 16, 4, 0},
    {CLUSTER_PACKET_REVOKED, "an unknown reason", 16, 4, 3},
    {CLUSTER_PACKET_REVOKED, "reserved", 20, 4, 1},
    {CLUSTER_PACKET_BUSY, "handle 0", 8, 8, 0},
    {CLUSTER_PACKET_BUSY, "reserved", 20, 4, 1},
    {CLUSTER_PACKET_GONE, "handle 0", 8, 8, 0},
    {CLUSTER_PACKET_GONE, "number 0", 16, 4, 0},
    {CLUSTER_PACKET_ROWS, "fewer rows than there are", 16, 4, 1},
    {CLUSTER_PACKET_ROWS, "more rows than there are", 16, 4, 3},
    {CLUSTER_PACKET_ROWS, "as many rows as can be counted", 16, 4, G_MAXUINT32},
    {CLUSTER_PACKET_ROWS, "more follow", 20, 4, 1, TRUE},
    {CLUSTER_PACKET_ROWS, "more is 2", 20, 4, 2},
    {CLUSTER_PACKET_ROWS, "a row of no mode", 24, 1, 0},
    {CLUSTER_PACKET_ROWS, "a row of an unknown mode", 24, 1, 3},
    {CLUSTER_PACKET_ROWS, "a row of no state", 25, 1, 0},
    {CLUSTER_PACKET_ROWS, "a row that waits", 25, 1, 2, TRUE},
    {CLUSTER_PACKET_ROWS, "a row of an unknown state", 25, 1, 3},
    {CLUSTER_PACKET_ROWS, "a row of no host", 26, 2, 0},
    {CLUSTER_PACKET_ROWS, "a host that wraps around", 26, 2, G_MAXUINT16},
    {CLUSTER_PACKET_ROWS, "a name that is longer", 28, 2, 3},
    {CLUSTER_PACKET_ROWS, "reserved", 30, 2, 1},
    {CLUSTER_PACKET_ROWS, "before 1970", 32, 8, G_MAXUINT64},
    {CLUSTER_PACKET_ROWS, "padding between rows", 55, 1, 1},
    {CLUSTER_PACKET_ROWS, "padding at the end", 79, 1, 1},
    {CLUSTER_PACKET_STATE, "state off", 8, 4, 0},
    {CLUSTER_PACKET_STATE, "an unknown state", 8, 4, 5},
    {CLUSTER_PACKET_STATE, "a longer engine", 12, 2, 9},
    {CLUSTER_PACKET_STATE, "longer hosts", 14, 2, 12},
    {CLUSTER_PACKET_BROKEN, "failed is 2", 20, 4, 2},
};

static void
test_malformed(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *one = &cases[i];
        g_autoptr(GByteArray) bytes = make_message(one->kind);

        g_assert_true(check_from_any(bytes));
        packet_bytes_set_number(bytes, one->offset, one->width, one->value);
        if (check_from_any(bytes) != one->is_good)
            g_error("kind %u, %s: expected it to be %s", one->kind, one->what,
                    one->is_good ? "read" : "malformed");
    }
}

/* Only a permit without held locks can be returned. */
static void
test_turn_over(void)
{
    static const struct {
        guint64 block;
        PermitMode held;
        gboolean is_good;
    } demands[] = {{7, PERMIT_NONE, TRUE}, {7, PERMIT_SHARED, FALSE}, {0, PERMIT_NONE, FALSE}};

    for (guint i = 0; i < G_N_ELEMENTS(demands); i++) {
        const ClusterDemand demand = {.handle = 1,
                                      .number = 1,
                                      .block = demands[i].block,
                                      .held = (guint8)demands[i].held,
                                      .flags = CLUSTER_DEMAND_TURN_OVER};
        g_autoptr(GByteArray) bytes = g_byte_array_new();

        cluster_packet_write_demand(bytes, &demand, "b", "x");
        g_assert_cmpint(cluster_packet_check_from_service(bytes->data, bytes->len), ==,
                        demands[i].is_good);
    }
}

/* A packet that ends anywhere in a message, and a message of any other size than its own. */
static void
test_sizes(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(all_kinds); i++) {
        g_autoptr(GByteArray) bytes = make_message(all_kinds[i]);
        const guint size = bytes->len;

        for (guint n = 0; n < size; n++) {
            g_assert_null(cluster_packet_read_from_service(bytes->data, n));
            g_assert_null(cluster_packet_read_from_gateway(bytes->data, n));
        }
        g_byte_array_set_size(bytes, size + 64);
        memset(bytes->data + size, 0, 64);
        for (guint n = 0; n <= size + 64; n++) {
            packet_bytes_set_number(bytes, 4, 4, n);
            if (n == 0)
                continue;
            g_assert_cmpint(cluster_packet_check_from_service(bytes->data, n), ==,
                            n == size && is_from_service(all_kinds[i]));
            g_assert_cmpint(cluster_packet_check_from_gateway(bytes->data, n), ==,
                            n == size && !is_from_service(all_kinds[i]));
        }
    }
}

static void
test_random(void)
{
    guint n_rounds = fixture_get_size(50000);
    guint n_read = 0;

    for (guint round = 0; round < n_rounds; round++) {
        const gint kind = g_test_rand_int_range(0, G_N_ELEMENTS(all_kinds));
        g_autoptr(GByteArray) bytes = make_message(all_kinds[kind]);

        packet_bytes_change_some(bytes);
        n_read += check_from_any(bytes);
    }
    /* Otherwise nothing was tested. */
    g_assert_cmpuint(n_read, >, n_rounds / 8);
    g_assert_cmpuint(n_read, <, n_rounds * 7 / 8);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cluster-packet/layout", test_layout);
    g_test_add_func("/cluster-packet/direction", test_direction);
    g_test_add_func("/cluster-packet/texts", test_texts);
    g_test_add_func("/cluster-packet/accessors", test_accessors);
    g_test_add_func("/cluster-packet/many-rows", test_many_rows);
    g_test_add_func("/cluster-packet/malformed", test_malformed);
    g_test_add_func("/cluster-packet/turn-over", test_turn_over);
    g_test_add_func("/cluster-packet/sizes", test_sizes);
    g_test_add_func("/cluster-packet/random", test_random);
    return g_test_run();
}
