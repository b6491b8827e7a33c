/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the core's effects are told as, and to whom.
 *
 * The client of a request or lock is told what it does not learn from a reply, by its channel; the
 * watchers of the bucket are told everything, by the bus. What has changed is noted for the store
 * first. */

#pragma once

#include "lock-call.h"
#include "server.h"

/* Takes the core's effects and puts what they tell into the outputs, in their order. */
void notify_effects(Server *server);

/* The same after a call of `client`, with its reply by `channel`. The reply goes before what it
 * tells, that the client's request was granted or waits; otherwise it goes last. */
void
notify_reply(Client *client, const Channel *channel, const LockCall *call, const LockReply *reply);
