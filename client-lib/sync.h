/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Sync calls: the async one, on a context that runs nothing of the application's.
 *
 *     SyncCall call;
 *     sync_call_begin(&call, connection);
 *     x_async(..., sync_call_done, &call);
 *     result = x_finish(..., sync_call_wait(&call), error);
 *     sync_call_end(&call);
 */

#pragma once

#include "client-lib/connection.h"

typedef struct {
    Connection *connection;
    GMainContext *context;
    GAsyncResult *result;
} SyncCall;

void sync_call_begin(SyncCall *self, Connection *connection);
void sync_call_done(GObject *source, GAsyncResult *result, gpointer self);
GAsyncResult *sync_call_wait(SyncCall *self);

/* Between wait and end, after a request: if it was cancelled before the service had answered, waits
 * for the answer, for a while, so that what it gives is handed back. There may be no main loop that
 * would do it later. */
void sync_call_settle(SyncCall *self);
void sync_call_end(SyncCall *self);
