/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* An agent [2.4]: one client of the service, known by its clientId, with everything it holds and
 * waits for.
 *
 * Ids are counted per agent, so they tell nothing of other agents and can't be guessed into
 * anything: an id is looked up in the caller's own table only. `requests` has the live requests,
 * waiting and held, in the order they were made. Once `terminated`, an agent is never granted
 * anything and can ask for nothing. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-result.h"

/* The kernel's names have at most 15 bytes. */
#define AGENT_PROCESS_NAME_SIZE 16

struct Agent {
    guint refs;
    Principal *principal;
    char *client_id;
    gpointer edge_data; /* of whoever sends this agent its messages; the core never looks */
    gboolean terminated;
    /* Of its process, for people: its number, 0 if unknown; and what it was called then, "" if
     * unknown. By now both may be another's. */
    guint32 pid;
    char process_name[AGENT_PROCESS_NAME_SIZE];
    GList in_user_agent;
    guint64 last_id;
    /* The store's: its number there, 0 until it has one, and the ids that it may give without
     * writing them down; whether its record is not as it is now, and whether there is one. */
    guint64 number;
    guint64 id_ceiling;
    gboolean is_dirty;
    gboolean is_saved;
    GQueue requests;    /* of LockRequest, by LockRequest.in_agent */
    GHashTable *by_id;  /* of &LockRequest.id: a set takes half the room of a table */
    GHashTable *by_key; /* of &LockRequest.key; NULL until a key is used */
};

/* Refuses with a limit of clients; on LOCK_RESULT_OK `*out_agent` is a new reference. */
LockResult agent_new(Principal *principal, const char *client_id, Agent **out_agent);

/* One that was there before the service died; whatever the limits are now. A new reference. */
Agent *agent_restore(Principal *principal, const char *client_id, guint64 last_id);

Agent *agent_ref(Agent *agent);
void agent_unref(Agent *agent);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Agent, agent_unref)

/* NULL if this agent has no live request of that id. */
LockRequest *agent_find_request(const Agent *agent, guint64 id);

/* NULL if this agent has no live request of that key, and for key 0. */
LockRequest *agent_find_key(const Agent *agent, guint64 key);

/* A live request enters and leaves the agent's indexes. */
void agent_add_request(Agent *agent, LockRequest *request);
void agent_remove_request(Agent *agent, LockRequest *request);
