/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "service/bus/look-ahead.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* A message's first bytes tell how long it is. */
#define HEADER_BYTES      16
#define MESSAGE_BYTES_MAX (64UL * 1024)

/* The length of a message, or 0 if it is none: then sd-bus will say so. */
static guint64
get_length(const guint8 *header)
{
    guint32 body, fields;

    memcpy(&body, header + 4, sizeof body);
    memcpy(&fields, header + 12, sizeof fields);
    if (header[0] == 'l')
        return HEADER_BYTES + (((guint64)GUINT32_FROM_LE(fields) + 7) & ~7ULL) +
               GUINT32_FROM_LE(body);
    if (header[0] == 'B')
        return HEADER_BYTES + (((guint64)GUINT32_FROM_BE(fields) + 7) & ~7ULL) +
               GUINT32_FROM_BE(body);
    return 0;
}

Next
look_ahead(int fd, gsize *out_length, gsize *out_n_bytes)
{
    guint8 bytes[512];
    ssize_t n = recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    int n_all = (int)n;
    guint64 length;

    if (n <= 0)
        return n < 0 && errno == EAGAIN ? NEXT_NOTHING : NEXT_END;
    if (n < HEADER_BYTES)
        return NEXT_PART;
    length = get_length(bytes);
    if (length > MESSAGE_BYTES_MAX)
        return NEXT_BAD;
    if (length >= sizeof bytes && ioctl(fd, SIOCINQ, &n_all) < 0)
        return NEXT_END;
    *out_length = length;
    *out_n_bytes = (gsize)n_all;
    return (guint64)n_all < length ? NEXT_PART : NEXT_MESSAGE;
}

gboolean
look_for_end(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLRDHUP};

    return poll(&poll_fd, 1, 0) > 0;
}

gsize
look_for_bytes(int fd)
{
    int n_bytes = 0;

    return ioctl(fd, SIOCINQ, &n_bytes) == 0 ? (gsize)n_bytes : 0;
}
