/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The user agent [2]: all of the core's state, for one service on one bus.
 *
 * The core has no clock: the edge says what time it is (user_agent_set_time) before it asks for
 * anything. Every operation leaves what it did in `effects`; the edge takes them before or after
 * further operations, but before it sends anything. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "deadlines.h"
#include "effects.h"
#include "limit-accounts.h"

struct UserAgent {
    Limits limits;
    GHashTable *principals; /* PrincipalIdentity -> Principal, weak */
    GQueue agents;          /* of Agent, by Agent.in_user_agent; weak */
    LimitsAccount *total;   /* what everybody has */
    Deadlines deadlines;
    Effects effects;
    gint64 now_us;       /* monotonic */
    gint64 realtime_us;  /* since 1970 */
    guint64 token_clock; /* the same, but never back: where tokens start */
    gboolean shutting_down;
    gboolean is_full; /* the store's: it could not keep another request */
};

void user_agent_init(UserAgent *user_agent, const Limits *limits);

/* Everybody who refers to a principal must be gone by then. */
void user_agent_fini(UserAgent *user_agent);

/* Moves the clock; nothing times out before user_agent_expire(). */
void user_agent_set_time(UserAgent *user_agent, gint64 monotonic_us, gint64 realtime_us);

/* The deadline of a wait that begins now, monotonic ms; rounded up, since nothing may be early. */
gint64 user_agent_deadline_ms(const UserAgent *user_agent, guint32 timeout_ms);

/* [2.6] Terminates the remaining locks and requests of an agent that is gone: all its requests end
 * before its locks do, and the queues are processed only after both, so that nothing is granted
 * to it. */
void user_agent_terminate(UserAgent *user_agent, Agent *agent);

/* [2.6] The same for an agent whose connection goes on: who asks by it from now on is another agent
 * with the same clientId, which has nothing, and whose ids go on from here. */
void user_agent_replace(UserAgent *user_agent, Agent *agent);

/* Ends every waiting request whose deadline has come, then processes their queues. A request that
 * would be granted by that and is due itself has timed out: one outcome, whatever the order. */
void user_agent_expire(UserAgent *user_agent);

/* When to call user_agent_expire() next, monotonic ms; -1 if nothing waits with a time-out. */
gint64 user_agent_get_next_deadline_ms(const UserAgent *user_agent);

/* The service ends: every request of this agent is lost, nothing is granted any more to anybody,
 * and requesting is answered with LOCK_RESULT_SHUTTING_DOWN. */
void user_agent_shut_down(UserAgent *user_agent);
void user_agent_lose(UserAgent *user_agent, Agent *agent);

/* Processes all queues: what is restored may have been about to be granted. */
void user_agent_process_all(UserAgent *user_agent);

/* How many requests are live, waiting and held. */
guint32 user_agent_get_n_requests(const UserAgent *user_agent);

/* Nobody's tokens start below this one any more. The clock of tokens is the system's, and goes on
 * by itself while that is set back; so it need not know what anybody's tokens are. It is told the
 * highest that a service before this one can have given, and that of a principal that goes, which
 * is behind the clock unless there was more than one grant in a microsecond. */
void user_agent_retire_token(UserAgent *user_agent, guint64 token);
