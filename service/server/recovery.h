/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Puts the state into the core, for a service whose predecessor may have ended at any moment: what
 * the file has is restored; agents of clients that have left the bus are terminated, requests whose
 * time is over have timed out, and what is grantable is granted; all of that is written to a new
 * file; and signals of it are put into the outputs, which are sent at the end of the turn.
 * startup.h has the steps before and after. */

#pragma once

#include <glib.h>

#include "server.h"
#include "state.h"

/* Sets the ids of the bus and of this boot. Blocks for an answer of the bus. */
gboolean recovery_get_options(Server *server, StateOptions *options, GError **error);

/* Restores what `state`, whose lock is ours, has; it becomes server->state. Takes `state`, which
 * is freed on failure. `names` are the unique names on the bus, asked for behind the lock. FALSE:
 * there is no state now; the server can't begin, and has no client yet that was restored. */
gboolean recovery_run(Server *server, State *state, GHashTable *names, GError **error);
