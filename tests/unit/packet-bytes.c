/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "tests/unit/packet-bytes.h"

static gsize
get_shift(gsize i, gsize width)
{
    return 8 * (G_BYTE_ORDER == G_LITTLE_ENDIAN ? i : width - 1 - i);
}

guint64
packet_bytes_get_number(const GByteArray *bytes, gsize offset, gsize width)
{
    guint64 value = 0;

    g_assert_cmpuint(offset + width, <=, bytes->len);
    for (gsize i = 0; i < width; i++)
        value |= (guint64)bytes->data[offset + i] << get_shift(i, width);
    return value;
}

void
packet_bytes_set_number(GByteArray *bytes, gsize offset, gsize width, guint64 value)
{
    g_assert_cmpuint(offset + width, <=, bytes->len);
    for (gsize i = 0; i < width; i++)
        bytes->data[offset + i] = (guint8)(value >> get_shift(i, width));
}

void
packet_bytes_change_some(GByteArray *bytes)
{
    for (gint n = g_test_rand_int_range(0, 4); n > 0; n--) {
        const gint at = g_test_rand_int_range(0, (gint)bytes->len);

        bytes->data[at] = (guint8)(g_test_rand_bit() ? 1 << g_test_rand_int_range(0, 8)
                                                     : g_test_rand_int_range(0, 256));
    }
}
