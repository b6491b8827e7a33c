/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is in a socket that is to be read by sd-bus, without taking anything out of it.
 *
 * sd-bus makes room for whatever length a message claims, and waits for the rest as long as it
 * takes. So each message is looked at before sd-bus may read it. Nothing here blocks. */

#pragma once

#include <glib.h>

typedef enum {
    NEXT_NOTHING,
    NEXT_MESSAGE,
    NEXT_PART, /* of a message */
    NEXT_BAD,  /* too long, or none */
    NEXT_END,
} Next;

/* What is next, where sd-bus has read whole messages only; how long, and how much there is in all.
 */
Next look_ahead(int fd, gsize *out_length, gsize *out_n_bytes);

/* Nothing more comes. */
gboolean look_for_end(int fd);

/* How many bytes there are. */
gsize look_for_bytes(int fd);
