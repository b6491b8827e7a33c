/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The core's effects as messages: who is told what.
 *
 * A request's or lock's own client is told what it does not learn from a reply; who watches the
 * bucket is told everything. */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/client.h"

/* Takes the core's effects and puts what they tell into the outboxes, in their order. */
void announce_effects(Edge *edge);

/* The same after a call of `client`, with the reply (taken; may be NULL): it goes before the grant
 * of `answered`, which it tells, and otherwise last. */
void announce_answer(Client *client, LockRequest *answered, sd_bus_message *reply);
