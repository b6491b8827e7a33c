/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The user agent [2], which is the whole state of the core, for one service on one bus; and its
 * agents.
 *
 * The core has no clock: the server sets the time by user_agent_set_time() before each operation.
 * Operations append to `effects`; the server reads and clears them after one or more operations,
 * before it sends anything. The tables of principals and agents hold no references. */

#pragma once

#include <glib.h>

#include "lock-queue.h"
#include "lock-result.h"
#include "principal.h"

struct UserAgent {
    Limits limits;
    GHashTable *principals;     /* PrincipalIdentity -> Principal, weak */
    GHashTable *shared_buckets; /* their names, owned: see principal_identity_of_bucket() */
    GQueue agents;              /* of Agent, by Agent.in_user_agent; weak */
    LimitsAccount total;        /* of all principals */
    GSequence *deadlines;       /* of LockRequest, by deadline and then by their order; weak */
    Effects effects;
    GQueue cells; /* of Cell, by Cell.in_user_agent; those not open yet are at its end */
    gboolean gives_cells;
    GQueue wanted;       /* of LockQueue, by LockQueue.in_wanted: see wanted_visit() */
    GPtrArray *demands;  /* of LockQueue, owned references: see permit_take_changed() */
    gint64 now_us;       /* monotonic */
    gint64 realtime_us;  /* since 1970 */
    guint64 token_clock; /* tokens start from it: see user_agent_retire_token() */
    gboolean shutting_down;
    guint64 document_key[2]; /* for documents/ and the store; not used by the core */

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

/* How far tokens may be ahead of the system clock, in microseconds: a client with a cell may enter
 * a lock more often than once in a microsecond. */
#define TOKENS_AHEAD (60 * (guint64)G_USEC_PER_SEC)

/* Makes the token clock start above `token`. The token clock never goes back. It follows the system
 * clock, and while it is ahead of that it continues at an eighth of the speed, until that has
 * caught up: so it need not depend on issued tokens in general. This function is called with the
 * highest token that an earlier instance of the service can have issued, and with the highest one
 * of a principal that is freed; the latter is behind the clock unless there was more than one grant
 * in eight microseconds. */
void user_agent_retire_token(UserAgent *user_agent, guint64 token);

/* The same for an instance that begins, since one before it may have issued tokens of which it
 * knows nothing: by another state, or none. They were at most TOKENS_AHEAD of the system clock. */
void user_agent_retire_unknown_tokens(UserAgent *user_agent);

/* Gets the manager of an owner's bucket, or creates it. Returns a new reference. */
LockManager *
user_agent_get_manager(UserAgent *user_agent, const PrincipalIdentity *owner, const char *bucket);

/* ---- agents */

/* Process names in the kernel have at most 15 bytes. */
#define AGENT_PROCESS_NAME_SIZE 16

/* What service/state notes about an agent; the core does not use it. */
typedef struct {
    guint64 number;     /* in its records; 0: it has none */
    guint64 id_ceiling; /* it can be given ids up to this one without writing its record */
    gboolean is_noted;  /* it has changed in this turn */
} AgentMark;

/* An agent [2.4]: one client of the service, identified by its clientId, with its live requests.
 *
 * Ids are counted per agent, so they reveal nothing about other agents; an id is only looked up in
 * the caller's own table. `requests` has the live requests, pending and held, in the order in which
 * they were made. Once `terminated` is set, the agent is granted nothing and can make no requests.
 * An agent owns a reference to its principal; its requests own references to it. */
struct Agent {
    guint refs;
    Principal *principal;
    char *client_id;
    gpointer server_data; /* for the server; not used by the core */
    AgentMark mark;
    gboolean terminated;
    /* Pid (0: unknown) and name ("": unknown) of its process at its first call, for display. The
     * process may have ended since, and the pid may have been reused. */
    guint32 pid;
    char process_name[AGENT_PROCESS_NAME_SIZE];
    GList in_user_agent;
    guint64 last_id;
    GQueue requests;    /* of LockRequest, by LockRequest.in_agent */
    GQueue untold;      /* of LockRequest, by LockRequest.in_untold: see wanted_take() */
    GHashTable *by_id;  /* of &LockRequest.id: a set takes half the room of a table */
    GHashTable *by_key; /* of &LockRequest.key; NULL until a key is used */
};

/* Creates an agent, or fails with a limit for clients. On LOCK_RESULT_OK `*out_agent` is a new
 * reference. */
LockResult agent_new(Principal *principal, const char *client_id, Agent **out_agent);

/* Creates an agent from the stored state, whatever the limits are. Returns a new reference. */
Agent *agent_restore(Principal *principal, const char *client_id, guint64 last_id);

Agent *agent_ref(Agent *agent);
void agent_unref(Agent *agent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Agent, agent_unref)

/* Returns NULL if this agent has no live request with this id. */
LockRequest *agent_find_request(const Agent *agent, guint64 id);

/* Returns NULL if this agent has no live request with this key, and for key 0. */
LockRequest *agent_find_key(const Agent *agent, guint64 key);

/* Add a live request to the agent's list and indexes, and remove it. */
void agent_add_request(Agent *agent, LockRequest *request);
void agent_remove_request(Agent *agent, LockRequest *request);
