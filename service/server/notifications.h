/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Turns the core's effects into records to store, events and signals.
 *
 * The client of a request gets events, on its channel, for changes that no reply reports to it. The
 * watchers of the bucket get signals for all changes, on the bus. Changes are noted for the store
 * first. */

#pragma once

#include "client.h"
#include "lock-call.h"

/* Clears the core's effects and queues their events and signals, in order. */
void notify_effects(Server *server);

/* The same after a call of `client`, with its reply by `channel`. If the client's request was
 * granted or waits, the reply is sent before the signals about that; otherwise it is sent last. */
void
notify_reply(Client *client, const Channel *channel, const LockCall *call, const LockReply *reply);
