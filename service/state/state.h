/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the core has, kept where it survives the death of the process.
 *
 * Whoever changes the core notes what has changed; the changes of a turn are one transaction, which
 * is committed before the first message of the turn leaves. A request that comes and goes in one
 * turn is never written.
 *
 * Ids and tokens must never be given twice, also those of requests that are gone. So that not each
 * has to be written down, they are reserved by the block: nothing above what is written is given.
 *
 * The file is `BUS.state` in the state directory, BUS being the id of the bus: unique names mean
 * something on one bus only. Whoever has the lock of `BUS.lock` beside it writes it. The state of
 * another boot, another bus or another format, or one that is damaged, is moved to
 * `BUS.state.aside`. */

#pragma once

#include <glib.h>

#include "agent.h"
#include "lock-request.h"
#include "records.h"
#include "user-agent.h"

typedef struct State State;

typedef struct {
    const char *directory; /* is made if it isn't there */
    guint8 bus_id[STATE_ID_BYTES];
    guint8 boot_id[STATE_ID_BYTES];
} StateOptions;

/* Takes the lock. NULL without an error: somebody else has it, who may be about to leave. */
State *state_open(const StateOptions *options, GError **error);

/* Commits what is left and gives back the lock. */
void state_free(State *state);

/* Whose requests can't be restored, and why they are lost. */
typedef void (*StateLost)(Agent *agent, guint64 id, const RequestRecord *record, gpointer data);

/* Puts what the file has into the core, which must be empty and know the time. New references to
 * the agents; `lost` is called, behind them, of each request that is set aside. NULL: it can't be
 * told now. To be followed by state_begin(). */
GPtrArray *
state_restore(State *state, UserAgent *user_agent, StateLost lost, gpointer data, GError **error);

/* Writes all that the core has into a new file, which then takes the place of the old one. From now
 * on changes are to be noted. */
gboolean state_begin(State *state, UserAgent *user_agent, GPtrArray *agents, GError **error);

/* The request is new, or was granted, or has ended. */
void state_note_request(State *state, LockRequest *request);

/* The agent is gone for good. Its requests have ended. */
void state_note_agent_gone(State *state, Agent *agent);

/* Whether one more request could be written. */
gboolean state_has_room(State *state, gsize n_bytes);

/* Writes what was noted. If that fails the process ends: nothing of this turn was said, so it is
 * as if it had ended before. */
void state_commit(State *state);
