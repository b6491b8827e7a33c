/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The handshake on a private socket: D-Bus's SASL, the server's side, with EXTERNAL alone.
 *
 * It proves nothing: the bus has said whose socket it is. It is here, and not left to sd-bus, since
 * it takes exactly its own bytes out of the socket. So what follows begins with a message, of which
 * can be seen how long it is before sd-bus makes room for it; and what a client sent before it died
 * can be read even if it died before it was greeted. */

#pragma once

#include <glib.h>

#include "common/sd-bus.h"

typedef enum {
    HANDSHAKE_GOES_ON, /* when there is more to read */
    HANDSHAKE_DONE,
    HANDSHAKE_FAILED, /* too long, or nonsense, or the client has left */
} HandshakeResult;

typedef struct {
    guint32 uid;
    sd_id128_t server_id;
    gboolean has_begun; /* with a zero byte */
    gboolean awaits_data;
    gboolean is_accepted;
    gboolean is_done;
    gsize n_bytes;
    GString *line;
    GString *answers; /* to what was read */
} Handshake;

void handshake_init(Handshake *self, guint32 uid, sd_id128_t server_id);
void handshake_clear(Handshake *self);

/* Reads what is there and answers it. Once it is done it stays so, and nothing more is read. */
HandshakeResult handshake_go_on(Handshake *self, int fd);

/* Whether the client has read all answers. sd-bus takes whatever comes with them for more of them,
 * and ends the process if there is a line's end in it: so no message may come so early. */
gboolean handshake_is_heard(int fd);

/* The server's side of a connection that has a handshake behind it; `*out_fd` is the other end, to
 * be closed by the caller. NULL if there are no descriptors. */
sd_bus *handshake_new_bus(sd_id128_t server_id, int *out_fd);

/* Moves such a server's side to a socket, where it takes up what follows the handshake there. FALSE
 * if there are no descriptors. */
gboolean handshake_move_bus(sd_bus *bus, int fd);
