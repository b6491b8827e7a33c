/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A call that waits for its result without a main loop.
 *
 *     SyncCall call;
 *     sync_call_init(&call, connection, cancellable);
 *     start something inside the gate, with ticket_new_for_sync(&call)
 *     result = sync_call_wait_pointer(&call, error);
 *
 * The thread processes the connection's messages itself until its result is there. What it reads
 * for others is passed on to their contexts; what others read for it wakes it. Nothing of the
 * application runs in it meanwhile. */

#pragma once

#include "client-lib/connection.h"

typedef struct {
    ConnectionWaiter waiter;
    Connection *connection;
    GCancellable *cancellable; /* borrowed; may be NULL */
    GThread *thread;
    gboolean is_done;
    gpointer pointer;
    gboolean boolean;
    GError *error;
} SyncCall;

void sync_call_init(SyncCall *self, Connection *connection, GCancellable *cancellable);

/* Inside the gate: gives the result; takes the error. */
void sync_call_finish(SyncCall *self, gpointer pointer, gboolean boolean, GError *error);

/* Waits, and clears the call. */
gpointer sync_call_wait_pointer(SyncCall *self, GError **error);
gboolean sync_call_wait_boolean(SyncCall *self, GError **error);
