/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Keeps a lock socket open while there is a need for one.
 *
 * The end of the socket is the end of the service, which comes back with everything that it had. So
 * a socket is opened when it is first needed, and again when it has ended, as long as anything
 * depends on it. OpenSocket is called by the service's name on the bus, so the bus starts a service
 * that is not running. The new socket begins with the list of what is live, which is compared, and
 * then everything that has had no answer is sent again: funcs.opened.
 *
 * If there is no service, it is called again after a second, then after twice as long each time, up
 * to 30 s; and at once when it comes back, or when there is a new call. A socket that was taken
 * over by another user of the same unique name, or closed because of something malformed, is not
 * opened again.
 *
 * All functions are called with the session lock held. */

#pragma once

#include "client-lib/engine/bus.h"
#include "client-lib/engine/packet-socket.h"

typedef struct Recovery Recovery;

typedef struct {
    /* Whether a socket is needed. */
    gboolean (*is_needed)(gpointer data);
    /* Connects to the bus; FALSE and an error, or bus funcs follow. */
    gboolean (*connect)(gpointer data, GError **error);
    /* A socket is there; the service has these, and everything can be sent now. */
    void (*opened)(const PacketLiveEntry *live, guint n_live, gpointer data);
    /* A message of the service other than LIVE and CLOSED. */
    void (*message)(const PacketHead *message, gpointer data);
    /* Everything that had to wait has been sent. */
    void (*drained)(gpointer data);
    /* The socket has ended. `was_read`: the service has ended in good order, and has read
     * everything. */
    void (*ended)(gboolean was_read, gpointer data);
    /* There is no socket for now. `is_temporary`: the service was there, and may be there soon. */
    void (*failed)(const GError *error, gboolean is_temporary, gpointer data);
    /* There won't be another one. */
    void (*finished)(const GError *error, gpointer data);
} RecoveryFuncs;

Recovery *recovery_new(Session *session, Bus *bus, const RecoveryFuncs *funcs, gpointer data);
void recovery_free(Recovery *self);

/* There is something new that needs a socket. */
void recovery_need(Recovery *self);

/* Opens one without need, if there is a service that runs. */
void recovery_prepare(Recovery *self);

/* The socket, if messages can be sent on it now; else NULL. */
PacketSocket *recovery_get_socket(Recovery *self);

/* How many bytes the kernel took on the socket, or on the last one. */
guint64 recovery_count_sent(const Recovery *self);

/* Takes in what is on the socket; only if it has ended. */
void recovery_read(Recovery *self);
void recovery_notice_end(Recovery *self);

/* The bus is connected; the service's name has another owner, or none. */
void recovery_connected(Recovery *self);
void recovery_owner_changed(Recovery *self);

/* Closes the socket for good, or until there is a bus again. */
void recovery_close(Recovery *self);
