/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The head of a reply on D-Bus, without reading its body. A GDBusMessage makes a GVariant of each
 * string in it, which takes longer than the service and the bus together if there are thousands. */

#pragma once

#include <glib.h>

typedef struct {
    guint32 reply_serial;  /* 0 if there is none */
    const char *sender;    /* "" if there is none; as the next, in the message */
    const char *signature; /* of the body */
    const guint8 *body;
    gsize body_size;
} BusReply;

/* FALSE if it is not a well-formed method return in native byte order. */
gboolean bus_reply_read(BusReply *self, const guint8 *message, gsize size);
