/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reading a packet of the cluster's link and writing it again has to give the same bytes: so
 * nothing is accepted that the writing functions would not write. The packet is copied to memory of
 * exactly its size first, so that a sanitizer reports a read beyond it. */

#pragma once

#include "common/cluster-packet.h"

/* Return whether the packet is valid in that direction. */
gboolean cluster_packet_check_from_service(const void *packet, gsize size);
gboolean cluster_packet_check_from_gateway(const void *packet, gsize size);
