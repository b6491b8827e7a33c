/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* cluster-packet: each way in which a message can be malformed. That both ends write and read the
 * same is in tests/cluster, whose clusterpackets.py writes and reads from the header alone. */

#include "common/cluster-packet.h"

#include <string.h>

#include "tests/lib/case.h"
#include "tests/unit/core-fixture.h"

/* A message, as GVariant text. */
typedef struct {
    ClusterPacketKind kind;
    const char *text;
} Example;

static const Example examples[] = {
    {CLUSTER_PACKET_HELLO, "(uint32 2,)"},
    {CLUSTER_PACKET_DEMAND,
     "(uint64 9, uint64 5, uint64 0, uint32 0, uint32 1000, uint32 6, "
     "byte 0x01, byte 0x00, byte 0x01, false, false, uint32 3, 'render', 'frame 1')"},
    {CLUSTER_PACKET_READY, "()"},
    {CLUSTER_PACKET_ACK, "(uint64 7,)"},
    {CLUSTER_PACKET_ASK, "(uint64 7, uint32 74, uint32 1000, 'render', 'frame 1', 'node1')"},
    {CLUSTER_PACKET_LEASE, "(uint64 7, int64 5000000, uint64 17, uint32 3, uint32 3)"},
    {CLUSTER_PACKET_PERMIT, "(uint64 9, byte 0x02, uint64 12, uint32 4)"},
    {CLUSTER_PACKET_YIELD, "(uint64 9, true)"},
    {CLUSTER_PACKET_REVOKED, "(uint64 9, byte 0x02)"},
    {CLUSTER_PACKET_BUSY, "(uint64 9, uint32 6)"},
    {CLUSTER_PACKET_GONE, "(uint64 9, uint32 6)"},
    {CLUSTER_PACKET_SYNCED, "()"},
    {CLUSTER_PACKET_ROWS, "(uint64 7, [(byte 0x01, byte 0x01, int64 17, 'node1'), "
                          "(byte 0x02, byte 0x02, int64 18, 'node2')])"},
    {CLUSTER_PACKET_STATUS, "(uint64 7, 'zk1:2181', 'node1\\nnode2', '1f', 'grants_total 3')"},
    {CLUSTER_PACKET_BROKEN, "(uint64 7, uint32 2, true)"},
};

/* Returns a packet with this body. */
static GByteArray *
make_packet(guint32 kind, const char *text)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GVariant) body = g_variant_parse(NULL, text, NULL, NULL, &error);
    GByteArray *bytes = g_byte_array_new();
    ClusterHead head = {.kind = kind};

    g_assert_no_error(error);
    head.size = (guint32)(sizeof head + g_variant_get_size(body));
    g_byte_array_append(bytes, (const guint8 *)&head, sizeof head);
    g_byte_array_append(bytes, g_variant_get_data(body), (guint)g_variant_get_size(body));
    return bytes;
}

/* Whether it is read from the service, or from the gateway: never both. */
static gboolean
is_read(const GByteArray *bytes, gsize size)
{
    g_autofree guint8 *exact = g_memdup2(bytes->data, size);
    g_auto(ClusterMessage) one = {0}, other = {0};
    gboolean from_service = cluster_packet_read_from_service(&one, exact, size);
    gboolean from_gateway = cluster_packet_read_from_gateway(&other, exact, size);

    g_assert_false(from_service && from_gateway);
    return from_service || from_gateway;
}

/* Returns the number of rows that are written of so many. */
static guint
write_rows(guint n_rows, const char *host)
{
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(ClusterRow));
    g_auto(ClusterMessage) message = {0};
    GVariantIter iter;
    ClusterRow row = {PERMIT_SHARED, CLUSTER_ROW_WAITS, 0, host};
    guint n = 0;

    for (row.since_us = 0; row.since_us < n_rows; row.since_us++)
        g_array_append_val(rows, row);
    cluster_packet_write(bytes, CLUSTER_PACKET_ROWS, (guint64)5, cluster_rows_new(rows));
    g_assert_true(cluster_packet_read_from_gateway(&message, bytes->data, bytes->len));
    g_assert_cmpuint(message.rows.serial, ==, 5);
    g_variant_iter_init(&iter, message.rows.rows);
    for (; cluster_row_next(&iter, &row); n++) {
        g_assert_cmpuint(row.mode, ==, PERMIT_SHARED);
        g_assert_cmpuint(row.state, ==, CLUSTER_ROW_WAITS);
        g_assert_cmpint(row.since_us, ==, n);
        g_assert_cmpstr(row.host, ==, host);
    }
    return n;
}

/* The first ones are written, as many as are allowed and fit into a packet. */
TEST("/cluster-packet/rows", test_rows)
{
    g_autofree char *longest = g_strnfill(CLUSTER_HOST_BYTES_MAX, 'h');
    g_autoptr(GString) text = g_string_new("(uint64 7, [(byte 1, byte 1, int64 17, 'n')])");
    g_autoptr(GByteArray) most = NULL, more = NULL;

    g_assert_cmpuint(write_rows(0, "host"), ==, 0);
    g_assert_cmpuint(write_rows(CLUSTER_ROWS_MAX, "host"), ==, CLUSTER_ROWS_MAX);
    g_assert_cmpuint(write_rows(CLUSTER_ROWS_MAX + 1, "host"), ==, CLUSTER_ROWS_MAX);
    g_assert_cmpuint(write_rows(CLUSTER_ROWS_MAX, longest), >,
                     CLUSTER_PACKET_BYTES_MAX / (CLUSTER_HOST_BYTES_MAX + 64));
    for (guint i = 1; i < CLUSTER_ROWS_MAX; i++)
        g_string_insert(text, (gssize)text->len - 2, ", (1, 1, 17, 'n')");
    most = make_packet(CLUSTER_PACKET_ROWS, text->str);
    g_assert_true(is_read(most, most->len));
    g_string_insert(text, (gssize)text->len - 2, ", (1, 1, 17, 'n')");
    more = make_packet(CLUSTER_PACKET_ROWS, text->str);
    g_assert_false(is_read(more, more->len));
}

/* ---- malformed */

typedef struct {
    ClusterPacketKind kind;
    const char *what;
    const char *part; /* of the text of the example ... */
    const char *by;   /* ... is replaced by this */
    gboolean is_good; /* TRUE: the nearest value that is valid */
} Case;

static const Case cases[] = {
    {CLUSTER_PACKET_HELLO, "another version", "uint32 2", "uint32 3", TRUE},
    {CLUSTER_PACKET_DEMAND, "handle 0", "uint64 9", "uint64 0"},
    {CLUSTER_PACKET_DEMAND, "no block", "uint64 5", "uint64 0", TRUE},
    {CLUSTER_PACKET_DEMAND, "beyond the last block", "uint64 5", "uint64 0x80000000000"},
    {CLUSTER_PACKET_DEMAND, "the last block", "uint64 5", "uint64 0x7ffffffffff", TRUE},
    {CLUSTER_PACKET_DEMAND, "an earlier claim", "uint64 0, uint32 0", "uint64 17, uint32 4", TRUE},
    {CLUSTER_PACKET_DEMAND, "a claim without session", "uint64 0, uint32 0", "uint64 0, uint32 4"},
    {CLUSTER_PACKET_DEMAND, "an earlier claim without a block", "uint64 5, uint64 0, uint32 0",
     "uint64 0, uint64 17, uint32 0"},
    {CLUSTER_PACKET_DEMAND, "the turn of an earlier claim is over",
     "uint64 0, uint32 0, uint32 1000, uint32 6, byte 0x01, byte 0x00, byte 0x01, false, false",
     "uint64 17, uint32 0, uint32 1000, uint32 6, byte 1, byte 0, byte 1, false, true"},
    {CLUSTER_PACKET_DEMAND, "number 0", "uint32 6", "uint32 0"},
    {CLUSTER_PACKET_DEMAND, "want is exclusive", "byte 0x01, byte 0x00", "byte 2, byte 0", TRUE},
    {CLUSTER_PACKET_DEMAND, "want is unknown", "byte 0x01, byte 0x00", "byte 3, byte 0"},
    {CLUSTER_PACKET_DEMAND, "undecided, but wants nothing", "byte 0x01, byte 0x00",
     "byte 0, byte 0"},
    {CLUSTER_PACKET_DEMAND, "held is exclusive", "byte 0x01, byte 0x00", "byte 1, byte 2", TRUE},
    {CLUSTER_PACKET_DEMAND, "held is unknown", "byte 0x01, byte 0x00", "byte 1, byte 3"},
    {CLUSTER_PACKET_DEMAND, "a steal", "byte 0x01, false", "byte 2, false", TRUE},
    {CLUSTER_PACKET_DEMAND, "undecided is unknown", "byte 0x01, false", "byte 3, false"},
    {CLUSTER_PACKET_DEMAND, "the turn is over", "false, false", "false, true", TRUE},
    {CLUSTER_PACKET_DEMAND, "needs tokens", "false, false", "true, false", TRUE},
    {CLUSTER_PACKET_DEMAND, "needs tokens, and the turn is over", "false, false", "true, true"},
    {CLUSTER_PACKET_DEMAND, "needs tokens for nothing", "byte 0x01, byte 0x00, byte 0x01, false",
     "byte 0, byte 1, byte 0, true"},
    {CLUSTER_PACKET_DEMAND, "needs tokens without a block",
     "uint64 5, uint64 0, uint32 0, uint32 1000, uint32 6, byte 0x01, byte 0x00, byte 0x01, false",
     "uint64 0, uint64 0, uint32 0, uint32 1000, uint32 6, byte 1, byte 0, byte 1, true"},
    {CLUSTER_PACKET_DEMAND, "the turn is over without a block",
     "uint64 5, uint64 0, uint32 0, uint32 1000, uint32 6, byte 0x01, byte 0x00, byte 0x01, false, "
     "false",
     "uint64 0, uint64 0, uint32 0, uint32 1000, uint32 6, byte 1, byte 0, byte 1, false, true"},
    {CLUSTER_PACKET_DEMAND, "the turn is over, and a lock is held",
     "byte 0x00, byte 0x01, false, false", "byte 1, byte 1, false, true"},
    {CLUSTER_PACKET_DEMAND, "no bucket", "'render'", "''"},
    {CLUSTER_PACKET_DEMAND, "no name", "'frame 1'", "''", TRUE},
    {CLUSTER_PACKET_DEMAND, "beyond ASCII", "'frame 1'", "'\\u00e4\\U0001f512'", TRUE},
    {CLUSTER_PACKET_DEMAND, "a noncharacter", "'frame 1'", "'\\uffff'"},
    {CLUSTER_PACKET_DEMAND, "another type", "uint32 3", "'three'"},
    {CLUSTER_PACKET_ASK, "for rows", "uint32 74", "uint32 72", TRUE},
    {CLUSTER_PACKET_ASK, "for a status", "uint32 74", "uint32 73", TRUE},
    {CLUSTER_PACKET_ASK, "for what is no answer", "uint32 74", "uint32 71"},
    {CLUSTER_PACKET_ASK, "for an unknown answer", "uint32 74", "uint32 75"},
    {CLUSTER_PACKET_ASK, "no bucket", "'render'", "''"},
    {CLUSTER_PACKET_ASK, "rows of no bucket", "74, uint32 1000, 'render'", "72, uint32 1000, ''"},
    {CLUSTER_PACKET_ASK, "a status, of no bucket", "74, uint32 1000, 'render'",
     "73, uint32 1000, ''", TRUE},
    {CLUSTER_PACKET_ASK, "a status, and a noncharacter", "74, uint32 1000, 'render'",
     "73, uint32 1000, '\\ufdd0'"},
    {CLUSTER_PACKET_ASK, "no name", "'frame 1'", "''", TRUE},
    {CLUSTER_PACKET_ASK, "all hosts", "'node1'", "''", TRUE},
    {CLUSTER_PACKET_ASK, "a noncharacter", "'node1'", "'\\ufdd0'"},
    {CLUSTER_PACKET_LEASE, "a deadline before the start", "int64 5000000", "int64 -1"},
    {CLUSTER_PACKET_LEASE, "no lease", "int64 5000000, uint64 17", "int64 0, uint64 0", TRUE},
    {CLUSTER_PACKET_LEASE, "a session without a lease", "int64 5000000", "int64 0"},
    {CLUSTER_PACKET_LEASE, "a lease without a session", "uint64 17", "uint64 0"},
    {CLUSTER_PACKET_LEASE, "state off", "uint32 3, uint32 3", "uint32 0, uint32 3"},
    {CLUSTER_PACKET_LEASE, "state lost", "uint32 3, uint32 3", "uint32 4, uint32 3", TRUE},
    {CLUSTER_PACKET_LEASE, "an unknown state", "uint32 3, uint32 3", "uint32 5, uint32 3"},
    {CLUSTER_PACKET_LEASE, "no reason", "uint32 3, uint32 3", "uint32 3, uint32 0", TRUE},
    {CLUSTER_PACKET_LEASE, "the last reason", "uint32 3, uint32 3", "uint32 3, uint32 15", TRUE},
    {CLUSTER_PACKET_LEASE, "an unknown reason", "uint32 3, uint32 3", "uint32 3, uint32 16"},
    {CLUSTER_PACKET_LEASE, "a reason of the state active", "uint32 3, uint32 3",
     "uint32 2, uint32 3"},
    {CLUSTER_PACKET_PERMIT, "handle 0", "uint64 9", "uint64 0"},
    {CLUSTER_PACKET_PERMIT, "mode none", "byte 0x02", "byte 0"},
    {CLUSTER_PACKET_PERMIT, "mode shared", "byte 0x02", "byte 1", TRUE},
    {CLUSTER_PACKET_PERMIT, "an unknown mode", "byte 0x02", "byte 3"},
    {CLUSTER_PACKET_PERMIT, "block 0", "uint64 12", "uint64 0"},
    {CLUSTER_PACKET_PERMIT, "the last block", "uint64 12", "uint64 0x7ffffffffff", TRUE},
    {CLUSTER_PACKET_PERMIT, "beyond the last block", "uint64 12", "uint64 0x80000000000"},
    {CLUSTER_PACKET_YIELD, "handle 0", "uint64 9", "uint64 0"},
    {CLUSTER_PACKET_REVOKED, "handle 0", "uint64 9", "uint64 0"},
    {CLUSTER_PACKET_REVOKED, "no reason", "byte 0x02", "byte 0"},
    {CLUSTER_PACKET_REVOKED, "an unknown reason", "byte 0x02", "byte 3"},
    {CLUSTER_PACKET_BUSY, "handle 0", "uint64 9", "uint64 0"},
    {CLUSTER_PACKET_GONE, "number 0", "uint32 6", "uint32 0"},
    {CLUSTER_PACKET_ROWS, "a row of no mode", "byte 0x01, byte 0x01", "byte 0, byte 1"},
    {CLUSTER_PACKET_ROWS, "a row of an unknown mode", "byte 0x01, byte 0x01", "byte 3, byte 1"},
    {CLUSTER_PACKET_ROWS, "a row of no state", "byte 0x01, byte 0x01", "byte 1, byte 0"},
    {CLUSTER_PACKET_ROWS, "a row that waits", "byte 0x01, byte 0x01", "byte 1, byte 2", TRUE},
    {CLUSTER_PACKET_ROWS, "a row of an unknown state", "byte 0x01, byte 0x01", "byte 1, byte 3"},
    {CLUSTER_PACKET_ROWS, "a row of no host", "'node2'", "''"},
    {CLUSTER_PACKET_ROWS, "before 1970", "int64 18", "int64 -1"},
    {CLUSTER_PACKET_STATUS, "a noncharacter", "'zk1:2181'", "'\\ufffe'"},
    {CLUSTER_PACKET_STATUS, "a noncharacter in the metrics", "'grants_total 3'", "'\\ufffe'"},
    {CLUSTER_PACKET_STATUS, "a noncharacter in the id", "'1f'", "'\\ufffe'"},
    {CLUSTER_PACKET_READY, "a body", "()", "(byte 1,)"},
};

TEST("/cluster-packet/malformed", test_malformed)
{
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Case *one = &cases[i];
        const Example *example = examples;
        g_autoptr(GString) text = NULL;
        g_autoptr(GByteArray) bytes = NULL;

        while (example->kind != one->kind)
            example++;
        text = g_string_new(example->text);
        g_assert_cmpuint(g_string_replace(text, one->part, one->by, 1), ==, 1);
        bytes = make_packet(one->kind, text->str);
        if (is_read(bytes, bytes->len) != one->is_good)
            g_error("kind %u, %s: expected it to be %s", one->kind, one->what,
                    one->is_good ? "read" : "malformed");
    }
}

/* The longest texts, and one byte more. */
TEST("/cluster-packet/lengths", test_lengths)
{
    static const struct {
        const char *format;
        gsize max;
    } texts[] = {
        {"(uint64 7, uint32 72, uint32 1000, '%s', '', '')", CLUSTER_BUCKET_BYTES_MAX},
        {"(uint64 7, uint32 72, uint32 1000, 'b', '%s', '')", CLUSTER_NAME_BYTES_MAX},
        {"(uint64 7, uint32 74, uint32 1000, 'b', '', '%s')", CLUSTER_HOST_BYTES_MAX},
    };

    for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
        for (gsize extra = 0; extra <= 1; extra++) {
            g_autofree char *long_text = g_strnfill(texts[i].max + extra, 'n');
            g_autoptr(GString) text = g_string_new(texts[i].format);
            g_autoptr(GByteArray) bytes = NULL;

            g_string_replace(text, "%s", long_text, 1);
            bytes = make_packet(CLUSTER_PACKET_ASK, text->str);
            g_assert_cmpint(is_read(bytes, bytes->len), ==, extra == 0);
        }
}

TEST("/cluster-packet/kinds", test_kinds)
{
    static const guint32 unknown[] = {0, 6, 64, 75, 0x103, G_MAXUINT32};

    for (guint i = 0; i < G_N_ELEMENTS(unknown); i++) {
        g_autoptr(GByteArray) bytes = make_packet(unknown[i], "()");

        g_assert_false(is_read(bytes, bytes->len));
    }
}

/* A packet that ends anywhere in a message, and one that is longer than its message. */
TEST("/cluster-packet/sizes", test_sizes)
{
    for (guint i = 0; i < G_N_ELEMENTS(examples); i++) {
        g_autoptr(GByteArray) bytes = make_packet(examples[i].kind, examples[i].text);
        const guint size = bytes->len;

        g_byte_array_set_size(bytes, size + 64);
        memset(bytes->data + size, 0, 64);
        for (guint n = 0; n <= size + 64; n++)
            g_assert_cmpint(is_read(bytes, n), ==, n == size);
    }
}

TEST_MAIN(g_test_run())
