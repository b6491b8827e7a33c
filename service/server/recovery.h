/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Recovery: continues with the stored state of a service that may have ended at any moment. The
 * state has been opened, that is, locked. The steps:
 *
 *   ask       the bus who is connected: after the lock was taken, so that no disconnect is missed
 *             between the list and the stored state;
 *   restore   read the file, check the records, and create their agents and requests in the core;
 *   catch up  terminate agents of clients that have disconnected, end requests whose time-out has
 *             expired, and grant what is grantable;
 *   begin     write the result to a new file;
 *   notify    queue the signals of all changes, which are sent at the end of the turn.
 *
 * state.h has the steps open, restore and begin; lifecycle.h has the steps of the start. */

#pragma once

#include <glib.h>

#include "client.h"
#include "state.h"

/* Sets the ids of the bus and of this boot. Blocks for an answer of the bus. */
gboolean recovery_get_options(Server *server, StateOptions *options, GError **error);

/* Begins the steps with `server->state`. The rest happens in the main loop, and then the service
 * runs (lifecycle_run). If the state can't be read or written, the service can't start
 * (lifecycle_fail), and no client is notified. What was in the state remains there, except for
 * requests that had ended before there was no space. */
void recovery_start(Server *server);
