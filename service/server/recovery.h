/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recovery: continues with the stored state of a service that may have ended at any moment. The
 * state has been opened, that is, locked. The steps:
 *
 *   restore   read the file, check the records, and create their agents and requests in the core;
 *   catch up  terminate agents of clients that have disconnected, end requests whose time-out has
 *             expired, and grant what is grantable;
 *   begin     write the result to a new file;
 *   notify    queue the signals of all changes, which are sent at the end of the turn. Only a
 * service that has started does this: until then the restored agents have no clients.
 *
 * state.h has the steps open, restore and begin; startup.h has the steps of the start. */

#pragma once

#include <glib.h>

#include "server.h"
#include "state.h"

/* Sets the ids of the bus and of this boot. Blocks for an answer of the bus. */
gboolean recovery_get_options(Server *server, StateOptions *options, GError **error);

/* What was restored, until the clients are notified. */
typedef struct Recovery Recovery;

/* Does all steps but the last one with `state`, which becomes server->state or, on failure, is
 * freed. `names` are the unique names on the bus, queried after the lock was taken. Returns NULL if
 * the state can't be read or written: the service can't start, and nothing is restored. */
Recovery *recovery_run(Server *server, State *state, GHashTable *names, GError **error);

/* The last step. Frees `self`. */
void recovery_notify(Server *server, Recovery *self);

/* Instead of it, for a service that can't start: everything remains in the state, and no client is
 * notified. Frees `self`. */
void recovery_drop(Server *server, Recovery *self);
