/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The stored state: a copy of the core's requests and agents that survives the end of the process.
 *
 * The server notes all changes of the core. The changes of a turn are one transaction, which is
 * committed before the first message of the turn is sent. A request that is made and ends within
 * one turn is never written.
 *
 * Ids and tokens are never issued twice, not even those of requests that have ended. They are
 * reserved in blocks, so that not each has to be written: none above the stored ceilings is issued.
 *
 * The file is `BUS.state` in the state directory, where BUS is the id of the bus, since unique
 * names are valid on one bus only. The process that has the lock on `BUS.lock` may write it. A
 * damaged state, or one of another boot, bus or format, is renamed to `BUS.state.aside`.
 *
 * The functions are called in the order of this header. */

#pragma once

#include <glib.h>

#include "agent.h"
#include "lock-request.h"
#include "records.h"
#include "user-agent.h"

typedef struct State State;

typedef struct {
    const char *directory; /* created if it doesn't exist */
    guint8 bus_id[STATE_ID_BYTES];
    guint8 boot_id[STATE_ID_BYTES];
} StateOptions;

/* Takes the lock. Returns NULL without an error if another process has it; that process may be
 * about to end. */
State *state_open(const StateOptions *options, GError **error);

/* Commits remaining changes and releases the lock. */
void state_free(State *state);

/* Reads the file, in a child process (reader.h). A file that can't be used is renamed. Returns
 * FALSE if it can't be read now, for lack of resources. */
gboolean state_read(State *state, GError **error);

/* Called for a request that is not restored; `record` describes it. There is at most one. */
typedef void (*StateLost)(Agent *agent, guint64 id, const RequestRecord *record, gpointer data);

/* Checks what was read and restores it into the core (restore.h), which must be empty and have its
 * time set. Contents that contradict themselves are renamed, too. Returns new references to the
 * agents. */
GPtrArray *state_restore(State *state, UserAgent *user_agent, StateLost lost, gpointer data);

/* Returns the deadline of a cluster's lease (CLOCK_BOOTTIME) in the file that was read; 0: none. */
gint64 state_get_deadline_us(const State *state);

/* Writes the whole core to a new file, which then replaces the old one. From now on changes have to
 * be noted. */
gboolean state_begin(State *state, UserAgent *user_agent, GPtrArray *agents, GError **error);

/* Notes that a request was made, was granted, or has ended. */
void state_note_request(State *state, LockRequest *request);

/* Notes the deadline of a cluster's lease; 0: there is none. */
void state_note_deadline(State *state, gint64 deadline_us);

/* Notes that an agent has ended, after all its requests. */
void state_note_agent_gone(State *state, Agent *agent);

/* Whether there is space for one more request with `n_bytes` bytes of strings. */
gboolean state_has_room(State *state, gsize n_bytes);

/* Commits the noted changes. If that fails, the process ends: nothing of this turn has been sent,
 * so for clients it is as if the process had ended before the turn. */
void state_commit(State *state);
