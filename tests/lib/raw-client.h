/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A minimal client of a lock socket, for tests and benchmarks: packets are written with
 * common/packet.h into `out`, sent, and read one message at a time. It blocks, needs no main loop,
 * and asserts that nothing fails unexpectedly. */

#pragma once

#include <gio/gio.h>

#include "common/packet.h"

typedef struct {
    int fd;
    GByteArray *out; /* written with packet_write_*(), and not sent yet */
    guint64 last_serial;
    gsize size; /* of the packet in `in` */
    gsize offset;
    guint64 in[PACKET_BYTES_MAX / sizeof(guint64)];
} RawClient;

/* Calls OpenSocket on a connection to a bus; or takes ownership of a socket. The first message,
 * LIVE, has not been read. */
RawClient *raw_client_new(GDBusConnection *connection);
RawClient *raw_client_new_for_fd(int fd);
void raw_client_free(RawClient *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RawClient, raw_client_free)

/* A serial that has not been used. */
guint64 raw_client_next_serial(RawClient *self);

/* Sends `out`, in as few packets as possible. Waits while the socket is full. */
void raw_client_send(RawClient *self);

/* Waits for the next message, which is valid until the next call. NULL: the service has closed the
 * socket. A malformed message is an error. */
const PacketHead *raw_client_receive(RawClient *self);

/* As above, and it must be of this kind; WANTED before it is dropped. */
const PacketHead *raw_client_expect(RawClient *self, PacketKind kind);
