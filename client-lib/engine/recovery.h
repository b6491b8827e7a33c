/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Opens the lock socket, and opens it again after it has ended, as long as one is needed.
 *
 * EOF on the socket means that the service has ended; the next instance has the stored state. So a
 * socket is opened when it is first needed, and again after EOF while there are locks, requests or
 * unacknowledged calls. OpenSocket is called on the service's well-known name, so the bus starts a
 * service that is not running. The new socket begins with the list of live requests; funcs.opened
 * compares it with the lock table and sends pending calls again.
 *
 * If there is no service, OpenSocket is retried after one second, then after twice the previous
 * interval, up to 30 s; and immediately when the name has a new owner or there is a new call. A
 * socket that was replaced by another user of the same unique name, or closed because of a
 * malformed packet, is not opened again.
 *
 * All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/bus.h"
#include "client-lib/engine/cells.h"
#include "client-lib/engine/packet-socket.h"

typedef struct Recovery Recovery;

typedef struct {
    /* Whether a socket is needed. */
    gboolean (*is_needed)(gpointer data);
    /* A socket was opened; `live` are the live requests that the service has listed. Messages can
     * be sent from now on. */
    void (*opened)(const PacketLiveEntry *live, guint n_live, gpointer data);
    /* A message from the service other than LIVE and CLOSED. */
    void (*message)(const PacketHead *message, gpointer data);
    /* The socket has ended. `was_read`: the service shut down and had read everything. */
    void (*ended)(gboolean was_read, gpointer data);
    /* No socket could be opened; this is retried. `is_temporary`: the service was running, and is
     * expected back soon. */
    void (*failed)(const GError *error, gboolean is_temporary, gpointer data);
    /* No further socket will be opened. */
    void (*finished)(const GError *error, gpointer data);
} RecoveryFuncs;

Recovery *recovery_new(Session *session, Bus *bus, const RecoveryFuncs *funcs, gpointer data);
void recovery_free(Recovery *self);

/* A new call needs a socket: opens one if there is none, without waiting for the retry interval. */
void recovery_need(Recovery *self);

/* Opens a socket before it is needed, if the service is running. bus_connect() may have been called
 * just before. */
void recovery_prepare(Recovery *self);

/* Returns the socket if messages can be sent on it, otherwise NULL. */
PacketSocket *recovery_get_socket(Recovery *self);

/* Returns the cells; those of the socket after recovery_map_cells(). */
Cells *recovery_get_cells(Recovery *self);

/* From now on sockets are opened with a page of cells, which only programs with handles need. One
 * that is open is replaced: there is none to send on until the other one is open. */
void recovery_want_cells(Recovery *self);

/* Replaces the cells by those of the socket that was opened, when all cells of the socket before
 * have been closed. */
void recovery_map_cells(Recovery *self);

/* Returns how many bytes have been sent on the current socket or, without one, on the last one. */
guint64 recovery_count_sent(const Recovery *self);

/* Reads and handles all messages on the socket, and its end. */
void recovery_read(Recovery *self);

/* Notification from the bus: the owner of the service's name has changed. */
void recovery_owner_changed(Recovery *self);

/* Closes the socket and stops retrying. It is not opened again before recovery_need(),
 * recovery_prepare(), or a notification from the bus. */
void recovery_close(Recovery *self);
