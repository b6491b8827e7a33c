/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A bus for one client, whose every byte and descriptor a test chooses. */

#pragma once

#include <gio/gio.h>

/* The unique name of the service on this bus. */
#define RAW_BUS_SERVICE ":1.1"

typedef struct RawBus RawBus;

RawBus *raw_bus_new(void);
void raw_bus_free(RawBus *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RawBus, raw_bus_free)

const char *raw_bus_get_address(const RawBus *self);

/* Accepts the client, and answers its authentication. */
void raw_bus_agree(RawBus *self);
/* The same, but it can't pass descriptors. */
void raw_bus_disagree(RawBus *self);
/* Connects an agent: answers its first calls too. */
void raw_bus_welcome(RawBus *self);

/* The socket of the accepted client. */
int raw_bus_get_fd(const RawBus *self);

/* Waits for the next message of the client. Returns its serial, or of a reply that of the call. */
guint32 raw_bus_receive(RawBus *self);

/* The flags of the message that was received last. */
GDBusMessageFlags raw_bus_get_flags(const RawBus *self);

/* Whether raw_bus_receive() would return immediately. */
gboolean raw_bus_has_message(RawBus *self);

/* Returns a message in wire format, with the next serial; free. */
guint8 *raw_bus_write(RawBus *self, GDBusMessage *message, gsize *out_size);

/* Sends bytes with descriptors, which remain the caller's. Waits until the client, which runs in
 * the thread-default context, has received all that was sent. Returns FALSE if it has closed the
 * connection before. */
gboolean raw_bus_send(RawBus *self, const guint8 *bytes, gsize size, const int *fds, guint n_fds);
