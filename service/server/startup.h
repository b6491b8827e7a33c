/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* From the connection to the bus to the first call that is served, and how one instance takes over
 * from another.
 *
 * The steps are in this order, so that no disconnect of a client is missed and no lock is held
 * twice:
 *
 *   1. subscribe to disconnects of clients and to changes of the name's owner (owners.h, which
 *      service.c calls before). Without --replace, the name must be free. If its owner is a process
 *      that has ended, wait up to PATIENCE_SECS until the bus has noticed that;
 *   2. with --replace, take the name, which makes the other instance exit. A state directory that
 *      can't be used is an error before that;
 *   3. take the lock of the state, which the other instance closes last;
 *   4. ask the bus who is connected, and restore the state (recovery.h);
 *   5. without --replace, take the name;
 *   6. serve the calls that have arrived meanwhile.
 *
 * From step 2 on clients can call. The main loop runs during steps 2 to 4, so the bus is read all
 * the time: each call becomes a deferred call immediately, and the limits of deferred calls apply.
 * No client is identified or served before step 6.
 *
 * The lock is waited for PATIENCE_SECS, and beyond that while the instance that had the name is
 * connected to the bus, which can take long if it has been stopped. If the new instance ends in
 * that time, the bus replies to the deferred calls with NoReply, and the old instance, when it
 * continues, takes the name back (lifecycle.h). So there is always one of them. */

#pragma once

#include <glib.h>

#include "server.h"

/* Does steps 1 and 2, and begins 3; these block for some answers of the bus. `state_directory`
 * NULL: there is no stored state, and no step 3 or 4. The rest happens in the main loop;
 * server->startup is NULL when it is done. A service that can't start logs the reason and ends with
 * an error (lifecycle_end). */
void startup_begin(Server *server, const char *state_directory);

/* Frees what startup_begin() has created, whether the start is complete or not. */
void startup_free(Server *server);

/* Changes of the name's owner: this connection owns it now, and `old_owner` did ("": none); this
 * connection has lost it; another connection owns it or, with `is_free`, none. */
void startup_on_name_taken(Server *server, const char *old_owner);
void startup_on_name_lost(Server *server);
void startup_on_other_owner(Server *server, gboolean is_free);

/* The connection has left the bus. */
void startup_on_disconnected(Server *server, const char *unique_name);
