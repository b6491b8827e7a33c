/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one place where calls are served, whichever way they came: from a decoded call to the core,
 * and from what the core answers to a reply. */

#pragma once

#include "lock-call.h"
#include "server.h"

/* Serves a call of an identified client that came by `channel`, and replies to it. */
void dispatch_call(Client *client, const Channel *channel, const LockCall *call);

/* [2.6] Ends the agent of the client, which has another one with the same client id from here on.
 * The client is told nothing of what that ends: it asked for it, or its socket is closed next. */
void dispatch_replace_agent(Client *client);
