/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Restores the stored state into the core, for a service whose predecessor may have ended at any
 * moment. Agents of clients that have disconnected are terminated, requests whose time-out has
 * expired end, and grantable requests are granted. The result is written to a new file, and signals
 * of the changes are queued, which are sent at the end of the turn. startup.h has the steps before
 * and after. */

#pragma once

#include <glib.h>

#include "server.h"
#include "state.h"

/* Sets the ids of the bus and of this boot. Blocks for an answer of the bus. */
gboolean recovery_get_options(Server *server, StateOptions *options, GError **error);

/* Restores from `state`, whose lock this process has; on success it becomes server->state. Takes
 * `state`, which is freed on failure. `names` are the unique names on the bus, queried after the
 * lock was taken. Returns FALSE if the state can't be read or written: the server can't start, and
 * has no restored clients. */
gboolean recovery_run(Server *server, State *state, GHashTable *names, GError **error);
