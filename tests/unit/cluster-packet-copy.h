/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads a packet of the connection between the service and its cluster gateway and writes it again:
 * the bytes have to be the same, so nothing is accepted that the writing functions would not write.
 * The packet is copied to an allocation of exactly its size first, so that a sanitizer reports a
 * read beyond it. */

#pragma once

#include "common/cluster-packet.h"

/* Return whether the packet is valid in that direction. */
gboolean cluster_packet_check_from_service(const void *packet, gsize size);
gboolean cluster_packet_check_from_gateway(const void *packet, gsize size);
