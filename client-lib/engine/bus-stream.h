/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A connection to a message bus of one's own: authentication, and GDBusMessages in both directions.
 *
 * It is not a GDBusConnection, because those share a thread, which the child of a fork() does not
 * have: a process that had used one could not have agents in its children. And a sync call can wait
 * for it without any main context. All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/bus-reply.h"
#include "client-lib/engine/session.h"

typedef struct BusStream BusStream;

typedef struct {
    void (*message)(GDBusMessage *message, gpointer data);
    /* A reply that is large. FALSE: it is to come as a message. */
    gboolean (*reply)(const BusReply *reply, gpointer data);
    /* Nothing more comes. */
    void (*ended)(const GError *error, gpointer data);
} BusStreamFuncs;

/* Connects and begins to authenticate. Messages may be sent at once; the first one is Hello. */
BusStream *bus_stream_new(Session *session,
                          const char *address,
                          const BusStreamFuncs *funcs,
                          gpointer data,
                          GError **error);

/* Closes it; nothing is called any more. What was not sent is discarded. */
void bus_stream_free(BusStream *self);

/* Known when the first message has arrived. */
gboolean bus_stream_passes_fds(const BusStream *self);

/* `message` has a serial. */
void bus_stream_send(BusStream *self, GDBusMessage *message);
