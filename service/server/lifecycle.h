/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* How the service starts, and how it ends: on SIGTERM or SIGINT, after it was idle for long enough,
 * or when another instance has taken its name.
 *
 * The steps of the start are in this order, so that no disconnect of a client is missed and no lock
 * is held twice:
 *
 *   1. subscribe to disconnects of clients and to changes of the name's owner (ownership.h);
 *   2. take the name and the lock of the state (ownership.h);
 *   3. ask the bus who is connected, and restore the state (recovery.h);
 *   4. serve the calls that have arrived meanwhile.
 *
 * From step 2 on clients can call. The main loop runs meanwhile, so the bus is read all the time:
 * each call becomes a deferred call immediately, and the limits of deferred calls apply. No client
 * is identified or served before step 4.
 *
 * With state no lock is lost at the end. The steps: the name is released, or the successor has
 * taken it; calls that came by name until then are served as usual; the bus has answered
 * ReleaseName, so it has read everything that was sent before; the loop ends; the state is closed,
 * which is what a successor waits for. A client that calls by the unique name after that is served
 * or refused, but can't delay the end: no new client is identified.
 *
 * Without state the steps of the end are: nothing is granted any more and requests are refused;
 * every client is notified of what it has lost; the name is released, so that no successor can
 * grant what a client still takes for held; the bus has answered that; the loop ends. With
 * --replace the successor takes the name first: for a moment it may grant what clients of the old
 * instance have not been notified of yet.
 *
 * An idle service ends in the same way. It does not take the name again for a request that comes
 * too late: systemd stops a service that releases its name. Without state such a request is
 * refused with InvalidState; the bus starts the service for the next one. */

#pragma once

#include <glib.h>

#include "client.h"

/* Step 4: the state is restored, if there is one. From here on the service may be idle. */
void lifecycle_run(Server *server);

/* Logs why the service can't start, or continue, and ends it; does nothing if it has ended. */
void lifecycle_fail(Server *server, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* The connection to the bus has ended, and with it the service. If the bus itself has ended, which
 * is no failure that anybody has to be told of, the files of the state are removed. */
void lifecycle_on_bus_lost(Server *server);

/* Ends the service in the order above, in bounded time; one that has not begun yet ends
 * immediately. Further calls have no effect (systemd sends SIGTERM when the name is released). */
void lifecycle_stop(Server *server);

/* Ends the service without any of the steps above. */
void lifecycle_end(Server *server, int exit_status);

/* For the end of each turn while what was sent before is served: ends the service if all is. */
void lifecycle_end_turn(Server *server);

/* The bus has answered ReleaseName: no more calls come by name, and the bus has read all that was
 * sent before. */
void lifecycle_on_name_released(Server *server);

/* Removes the timers. */
void lifecycle_fini(Server *server);
