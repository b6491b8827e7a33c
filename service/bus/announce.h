/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The core's effects as messages: who is told what.
 *
 * A request's or lock's own client is told what it does not learn from a reply; who watches the
 * bucket is told everything. */

#pragma once

#include "common/sd-bus.h"
#include "service/bus/edge.h"

/* Takes the core's effects and puts what they tell into the outbox, in their order. `reply` (taken;
 * may be NULL) is the answer to the call that caused them: it goes before the grant of `answered`,
 * which it tells, and otherwise last. */
void announce_effects(Edge *edge, const LockRequest *answered, sd_bus_message *reply);
