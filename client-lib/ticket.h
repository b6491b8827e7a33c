/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Somebody who waits for a result from the connection: a task, or a sync call. The result comes
 * once, from there or from the cancellable.
 *
 * All functions are called inside the connection's gate. A task's result is told outside, from the
 * context of the task. */

#pragma once

#include <gio/gio.h>

#include "client-lib/connection.h"
#include "client-lib/sync.h"

typedef struct Ticket Ticket;

/* Takes the task. From anywhere, as is the next. */
Ticket *ticket_new_for_task(Connection *connection, GTask *task);
Ticket *ticket_new_for_sync(SyncCall *call);

/* From now on, when the cancellable is cancelled the ticket gets its result, and `cancelled` is
 * called at once, inside the gate, with `data`. FALSE: it was cancelled before, and the ticket is
 * freed. */
gboolean ticket_listen(Ticket *self, ConnectionFunc cancelled, gpointer data);

/* The result; take what they are given, and free the ticket. If it has one already, that is all
 * they do. */
void ticket_return_pointer(Ticket *self, gpointer pointer, GDestroyNotify pointer_free);
void ticket_return_boolean(Ticket *self, gboolean boolean);
void ticket_return_error(Ticket *self, GError *error);

/* Of one that has its result. */
void ticket_free(Ticket *self);
