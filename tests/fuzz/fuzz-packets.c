/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A packet of any bytes, read as the service reads those of clients, and as a client reads those of
 * the service.
 *
 * What is read of a client and written again gives the same bytes: so nothing is accepted that the
 * page rules out, of reserved fields, padding or lengths. No read reaches beyond the packet. */

#include "tests/fuzz/fuzz.h"
#include "tests/unit/packet-copy.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    packet_check_from_client(data, size);
    packet_check_from_service(data, size);
    return 0;
}
