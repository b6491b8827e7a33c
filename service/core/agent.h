/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An agent [2.4]: one client of the service, identified by its clientId, with its live requests.
 *
 * Ids are counted per agent, so they reveal nothing about other agents; an id is only looked up in
 * the caller's own table. `requests` has the live requests, pending and held, in the order in which
 * they were made. Once `terminated` is set, the agent is granted nothing and can make no requests.
 * An agent owns a reference to its principal; its requests own references to it. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-result.h"

/* Process names in the kernel have at most 15 bytes. */
#define AGENT_PROCESS_NAME_SIZE 16

/* What service/state notes about an agent; the core does not use it. */
typedef struct {
    guint64 number;     /* in its records; 0: it has none */
    guint64 id_ceiling; /* it can be given ids up to this one without writing its record */
    gboolean is_noted;  /* it has changed in this turn */
} AgentMark;

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
