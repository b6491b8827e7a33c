/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The bytes of a packet, as numbers in native byte order, and random changes to them. */

#pragma once

#include <glib.h>

/* `offset + width` must not be beyond the end. */
guint64 packet_bytes_get_number(const GByteArray *bytes, gsize offset, gsize width);
void packet_bytes_set_number(GByteArray *bytes, gsize offset, gsize width, guint64 value);

/* Sets up to three bytes at random, half of them to a power of two. */
void packet_bytes_change_some(GByteArray *bytes);
