/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* From the connection to the bus to the first call that is served, and how one instance takes over
 * from another.
 *
 * In this order, so that no end of a client is missed and no lock is ever held twice:
 *
 *   1. subscribe to the ends of clients and to changes of the name's owner;
 *   2. with --replace, take the name: that is what makes the other instance leave. A state
 *      directory that can't be used is an error before that;
 *   3. take the lock of the state, which the other instance closes last;
 *   4. ask the bus who is connected, and restore the state (recovery.h);
 *   5. without --replace, take the name;
 *   6. serve the calls that came meanwhile.
 *
 * From 2 on clients can call. The main loop runs during 2 to 4, so the bus is read all the time:
 * each call becomes a deferred call at once, and the limits of deferred calls hold. Nobody is
 * identified or served before 6.
 *
 * The lock is waited for PATIENCE_SECS; but as long as the instance that had the name is connected
 * to the bus, which it may be for long if it has been stopped, the wait goes on. If the new
 * instance ends in that time, the bus drops the calls it has deferred with NoReply, and the old
 * instance, when it goes on, takes the name back (lifecycle.h). So there is always one of them. */

#pragma once

#include <glib.h>

#include "server.h"

/* Does steps 1 and 2, and begins 3; these block for some answers of the bus. `state_directory`
 * NULL: nothing outlives the service, and there is no step 3 or 4. The rest happens in the main
 * loop; server->startup is NULL when it is done. A service that can't begin logs why, and ends with
 * an error (lifecycle_end). */
void startup_begin(Server *server, const char *state_directory);

/* What startup_begin() made, done or not. */
void startup_free(Server *server);

/* Another connection has become the owner of the name; or nobody has it, and `is_free`. */
void startup_on_owner_changed(Server *server, gboolean was_ours, gboolean is_free);

/* The connection has left the bus. */
void startup_on_connection_gone(Server *server, const char *unique_name);
