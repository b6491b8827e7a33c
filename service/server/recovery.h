/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recovery: continues with the stored state of a service that may have ended at any moment. The
 * state has been opened, that is, locked. The steps:
 *
 *   read      the file, in a child process;
 *   restore   check the records, and create their agents and requests in the core;
 *   catch up  terminate agents of clients that have disconnected, end requests whose time-out has
 *             expired, and grant what is grantable;
 *   begin     write the result to a new file;
 *   notify    queue the signals of all changes, which are sent at the end of the turn.
 *
 * state.h has the steps open, read, restore and begin; startup.h has the steps of the start. */

#pragma once

#include <glib.h>

#include "server.h"
#include "state.h"

/* Sets the ids of the bus and of this boot. Blocks for an answer of the bus. */
gboolean recovery_get_options(Server *server, StateOptions *options, GError **error);

/* Does all steps with `state`, which becomes server->state or, on failure, is freed. `names` are
 * the unique names on the bus, queried after the lock was taken. Returns FALSE if the state can't
 * be read or written: the server can't start, and has no restored clients. */
gboolean recovery_run(Server *server, State *state, GHashTable *names, GError **error);
