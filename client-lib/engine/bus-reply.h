/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parses the header of a D-Bus reply without parsing its body. GDBusMessage creates a GVariant for
 * each string in the body, which for thousands of strings takes longer than the service and the bus
 * together. All pointers of a BusReply point into the message. */

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
