/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads D-Bus's marshalling format in place, and the header of a reply without its body.
 * GDBusMessage creates a GVariant for each string in the body, which for thousands of strings takes
 * longer than the service and the bus together. All pointers of a BusReply point into the message.
 */

#pragma once

#include <glib.h>

typedef struct {
    guint32 reply_serial;  /* 0 if absent */
    const char *sender;    /* "" if absent */
    const char *signature; /* of the body */
    const guint8 *body;
    gsize body_size;
} BusReply;

/* Returns FALSE if the message is not a well-formed method return in native byte order. */
gboolean bus_reply_read(BusReply *self, const guint8 *message, gsize size);

/* A place in data in native byte order, which begin at an offset that is aligned to 8 bytes. */
typedef struct {
    const guint8 *data;
    gsize size;
    gsize offset;
} BusReader;

/* Return FALSE if the value extends beyond the data. A string is borrowed; its type is that of a
 * string or an object path, whose length has four bytes, or of a signature ('g'), with one byte. */
gboolean bus_reader_align(BusReader *self, gsize alignment);
gboolean bus_reader_u32(BusReader *self, guint32 *out_number);
gboolean bus_reader_string(BusReader *self, char type, const char **out_string);
