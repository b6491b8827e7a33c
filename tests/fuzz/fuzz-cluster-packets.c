/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A packet of any bytes, read as the gateway to a cluster reads those of weblocksd, and as
 * weblocksd reads those of the gateway. */

#include "common/cluster-packet.h"
#include "tests/fuzz/fuzz.h"

static void
touch_rows(const ClusterRows *rows)
{
    GVariantIter iter;
    ClusterRow row;

    g_variant_iter_init(&iter, rows->rows);
    while (cluster_row_next(&iter, &row))
        g_assert_cmpuint(strlen(row.host), <=, CLUSTER_HOST_BYTES_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree guint8 *packet = g_memdup2(data, size); /* aligned */
    g_auto(ClusterMessage) from_service = {0}, from_gateway = {0};
    gboolean is_of_service = cluster_packet_read_from_service(&from_service, packet, size);

    if (cluster_packet_read_from_gateway(&from_gateway, packet, size)) {
        g_assert_false(is_of_service);
        if (from_gateway.kind == CLUSTER_PACKET_ROWS)
            touch_rows(&from_gateway.rows);
    }
    return 0;
}
