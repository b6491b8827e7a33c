/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Encodes a decoded message again: the bytes have to be the same, since a valid message has only
 * one encoding. */

#pragma once

#include "common/packet.h"

/* Appends a message that packet_read_from_client() returned to `bytes`, by the packet_write_*()
 * function of its kind. */
void packet_copy_from_client(GByteArray *bytes, const PacketHead *message);

/* Reads all messages of a packet in an allocation of exactly its size, so that sanitizers notice a
 * read behind it, and asserts what has to be true of any packet. Returns how many messages were
 * read before the end or the first malformed one. */
guint packet_check_from_client(const void *packet, gsize size);
guint packet_check_from_service(const void *packet, gsize size);
