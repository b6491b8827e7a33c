/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A packet of any bytes, read as the service reads those of clients, and as a client reads those of
 * the service.
 *
 * A packet that is accepted and written again has the same bytes: so reserved fields, padding and
 * lengths that the specification excludes are not accepted. No read extends beyond the packet. */

#include "tests/fuzz/fuzz.h"
#include "tests/unit/packet-copy.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    packet_check_from_client(data, size);
    packet_check_from_service(data, size);
    return 0;
}
