/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Operations of the core: how a call becomes one, and what follows from it.
 *
 * Each begins with the current time; then the core changes its state and appends effects; these
 * become records to store, the reply, events for the clients of requests, on their channels, and
 * signals for the watchers of the bucket, on the bus. This is the only path of requests, releases,
 * aborts and downgrades to the core. A call that wants a reply gets exactly one. The call and its
 * strings are borrowed. */

#pragma once

#include "client.h"
#include "lock-call.h"

/* Sets the core's time, and ends what has expired: what is held under permits of the cluster, and
 * pending requests. Has to be called before every operation of the core, so that none can grant a
 * request whose time has passed, even if the timer could not be served yet. Effects of earlier
 * operations are notified, so those of the next one are its own. */
void clock_tick(Server *server);

/* Clears the core's effects and queues their events and signals, in order. */
void notify_effects(Server *server);

/* The same after a call of `client`, with its reply by `channel`. If the client's request was
 * granted or waits, the reply is sent before the signals about that; otherwise it is sent last. */
void
notify_reply(Client *client, const Channel *channel, const LockCall *call, const LockReply *reply);

/* To be called before a call is served: clock_tick(), and a line in the log if it is verbose. */
void operations_begin(const Client *client, const LockCall *call);

/* Serves a lock operation, SYNC or END of an identified client, and replies to it on `channel`. */
void operations_serve(Client *client,
                      const Channel *channel,
                      const LockCall *call,
                      const Target *target);

/* [2.6] Terminates the agent of a connected client, which then has a new agent with the same client
 * id. The client gets no events for the requests that end: it sent END, or its socket is closed
 * next. */
void operations_replace_agent(Client *client);
