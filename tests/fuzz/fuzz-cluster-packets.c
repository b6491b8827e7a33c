/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A packet of any bytes, read as the gateway to a cluster reads those of weblocksd, and as
 * weblocksd reads those of the gateway: see cluster-packet-copy.h. */

#include "tests/fuzz/fuzz.h"
#include "tests/unit/cluster-packet-copy.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cluster_packet_check_from_service(data, size);
    cluster_packet_check_from_gateway(data, size);
    return 0;
}
