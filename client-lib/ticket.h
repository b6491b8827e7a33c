/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A task that waits for the connection: it gets one result, from there or from its cancellable.
 *
 * All functions are called inside the connection's gate. The result itself is told outside, and
 * comes to the context of the task. */

#pragma once

#include <gio/gio.h>

#include "client-lib/connection.h"

typedef struct Ticket Ticket;

/* Takes the task. When its cancellable is cancelled the task ends, and `cancelled` is called at
 * once, inside the gate, with `data`. NULL: the cancellable is nobody's concern. */
Ticket *ticket_new(Connection *connection, GTask *task, ConnectionFunc cancelled, gpointer data);

/* Whether it still waits for its result. */
gboolean ticket_is_open(const Ticket *self);

/* It is open, and its cancellable is cancelled, but has not been heard yet. */
gboolean ticket_is_cancelled(const Ticket *self);

/* To be asked once, when all is ready to hear the cancellable. TRUE: it was cancelled before, and
 * the ticket is freed. */
gboolean ticket_return_if_cancelled(Ticket *self);

GTask *ticket_get_task(const Ticket *self);

/* The result; take what they are given, and free the ticket. If it isn't open any more, that is all
 * they do. */
void ticket_return_pointer(Ticket *self, gpointer result, GDestroyNotify result_free);
void ticket_return_boolean(Ticket *self, gboolean result);
void ticket_return_error(Ticket *self, GError *error);

/* Of one that isn't open any more. */
void ticket_free(Ticket *self);
