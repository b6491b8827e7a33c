/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The user agent [2]: the whole state of the core, for one service on one bus.
 *
 * The core has no clock: the server sets the time by user_agent_set_time() before each operation.
 * Operations append to `effects`; the server reads and clears them after one or more operations,
 * before it sends anything. The tables of principals and agents hold no references. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "effects.h"
#include "limit-accounts.h"

struct UserAgent {
    Limits limits;
    GHashTable *principals; /* PrincipalIdentity -> Principal, weak */
    GQueue agents;          /* of Agent, by Agent.in_user_agent; weak */
    LimitsAccount *total;   /* owned reference */
    GSequence *deadlines;   /* of LockRequest, by deadline and then by their order; weak */
    Effects effects;
    GPtrArray *demands;  /* of LockQueue, owned references: see permit_take_changed() */
    gint64 now_us;       /* monotonic */
    gint64 realtime_us;  /* since 1970 */
    guint64 token_clock; /* like `realtime_us`, but never goes back; tokens start from it */
    gboolean shutting_down;

    /* There is storage for one more request with that many bytes of strings; one with more is
     * refused with LOCK_RESULT_NO_ROOM. The server sets it before each request. */
    gsize room_bytes;
};

void user_agent_init(UserAgent *user_agent, const Limits *limits);

/* All references to principals must have been dropped before. */
void user_agent_fini(UserAgent *user_agent);

/* Sets the clock. Time-outs expire in user_agent_expire() only. */
void user_agent_set_time(UserAgent *user_agent, gint64 monotonic_us, gint64 realtime_us);

/* Returns the deadline of a request made now, in monotonic milliseconds, rounded up so that it
 * never expires early. */
gint64 user_agent_deadline_ms(const UserAgent *user_agent, guint32 timeout_ms);

/* Adds and removes the time-out of a pending request, which has it until it is granted or ends.
 * Each has at most one; removing does nothing if there is none. */
void user_agent_add_deadline(UserAgent *user_agent, LockRequest *request, gint64 deadline_ms);
void user_agent_remove_deadline(LockRequest *request);

/* [2.6] Terminates the remaining locks and requests of an agent that has disconnected: first its
 * requests end, then its locks; then the queues are processed. So nothing is granted to it. */
void user_agent_terminate(UserAgent *user_agent, Agent *agent);

/* [2.6] Terminates an agent whose connection stays open: the Agent object then stands for a new
 * agent with the same clientId, which has no requests, and whose ids continue. */
void user_agent_replace(UserAgent *user_agent, Agent *agent);

/* Ends every pending request whose deadline has expired, and then processes their queues. So a
 * request that has expired is never granted by the end of another one. An undecided request ends as
 * EFFECT_UNAVAILABLE. */
void user_agent_expire(UserAgent *user_agent);

/* Returns when to call user_agent_expire() next, in monotonic milliseconds, or -1 if no pending
 * request has a time-out. */
gint64 user_agent_get_next_deadline_ms(const UserAgent *user_agent);

/* For a shutdown without stored state. After user_agent_shut_down() nothing is granted, and
 * requests fail with LOCK_RESULT_SHUTTING_DOWN. user_agent_lose() ends every request of an agent as
 * lost. */
void user_agent_shut_down(UserAgent *user_agent);
void user_agent_lose(UserAgent *user_agent, Agent *agent);

/* Processes all queues. Restored requests may be grantable. */
void user_agent_process_all(UserAgent *user_agent);

/* Returns the number of held locks and pending requests. */
guint32 user_agent_get_n_requests(const UserAgent *user_agent);

/* Makes the token clock start above `token`. The token clock follows the system clock, and
 * continues on its own while that is set back, so it need not depend on issued tokens in general.
 * This function is called with the highest token that an earlier instance of the service can have
 * issued, and with the highest one of a principal that is freed; the latter is behind the clock
 * unless there was more than one grant per microsecond. */
void user_agent_retire_token(UserAgent *user_agent, guint64 token);
