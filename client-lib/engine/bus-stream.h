/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The library's own connection to a message bus: authentication, and sending and receiving of
 * GDBusMessages.
 *
 * It is not a GDBusConnection, because those share a worker thread, which the child of a fork()
 * does not have: a process that had used one could not create agents in its children. Besides, a
 * synchronous call can wait for a BusStream without a main context. All functions are called with
 * the session lock held. */

#pragma once

#include "client-lib/engine/bus-reply.h"
#include "client-lib/engine/session.h"

typedef struct BusStream BusStream;

typedef struct {
    void (*message)(GDBusMessage *message, gpointer data);
    /* A reply in native byte order. If this returns FALSE, it is parsed and passed to `message`. */
    gboolean (*reply)(const BusReply *reply, gpointer data);
    /* The connection has ended; no further function is called. */
    void (*ended)(const GError *error, gpointer data);
} BusStreamFuncs;

/* Begins to connect and to authenticate, without blocking and without a time-out. Messages can be
 * sent immediately; the first one must be Hello. If `address` is not NULL, `bus_type` is ignored.
 */
BusStream *bus_stream_new(Session *session,
                          GBusType bus_type,
                          const char *address,
                          const BusStreamFuncs *funcs,
                          gpointer data,
                          GError **error);

/* Closes the connection and discards unsent messages. No function is called any more. */
void bus_stream_free(BusStream *self);

/* The serial of `message` must be set. One with descriptors is sent after BEGIN only. */
void bus_stream_send(BusStream *self, GDBusMessage *message);

/* The size in bytes of the queue of messages that the socket has not accepted yet. */
gsize bus_stream_get_queue_bytes(const BusStream *self);
