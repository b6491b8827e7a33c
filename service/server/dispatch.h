/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Dispatch of decoded calls, from the bus and from lock sockets, to operations of the core; and
 * replies with their results.
 *
 * This is the only path from a call to the core. The client has been identified, and the scheduler
 * has determined that it is served now. A call that wants a reply gets exactly one, possibly after
 * a decision of the cluster (late-replies.h). The call and its strings are borrowed. */

#pragma once

#include "client.h"
#include "lock-call.h"

/* Serves a call of an identified client and replies to it on `channel`. */
void dispatch_call(Client *client, const Channel *channel, const LockCall *call);

/* [2.6] Terminates the agent of a connected client, which then has a new agent with the same client
 * id. The client gets no events for the requests that end: it sent END, or its socket is closed
 * next. */
void dispatch_replace_agent(Client *client);
