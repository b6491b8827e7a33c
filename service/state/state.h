/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The stored state: a copy of the core's requests and agents that survives the end of the process.
 *
 * The server notes all changes of the core. The changes of a turn are one frame (log.h), which is
 * written before the first message of the turn is sent. A request that is made and ends within one
 * turn is never written. A file that has mostly ended agents and requests is replaced by one with
 * the live ones, and so is one in which a frame has no room. There is always room for that: a
 * request is only admitted if a file with everything has room for it.
 *
 * Ids and tokens are never issued twice, not even those of requests that have ended. They are
 * reserved in blocks, so that not each has to be written: none above the stored ceilings is issued.
 *
 * Of a lock whose client leaves and enters it by itself, the pages in `BUS.cells` say whether it is
 * held: the next instance closes all cells before it restores anything, and removes the pages when
 * it has written its own file.
 *
 * The file is `BUS.state` in the state directory, where BUS is the id of the bus, since unique
 * names are valid on one bus only. The process that has the lock on `BUS.lock` may write it. A
 * damaged state, or one of another boot, bus or format, is renamed to `BUS.state.aside`; the format
 * before this one is read. When the bus has ended, nobody needs the files any more.
 *
 * The functions are called in the order of this header. */

#pragma once

#include <glib.h>

#include "cell-pages.h"
#include "lock-queue.h"
#include "log.h"
#include "restore.h"
#include "user-agent.h"

#define STATE_ID_BYTES LOG_ID_BYTES

typedef struct State State;

typedef struct {
    const char *directory; /* created if it doesn't exist */
    guint8 bus_id[STATE_ID_BYTES];
    guint8 boot_id[STATE_ID_BYTES];
    gboolean offers_cells; /* pages can be created: state_new_page() */
    /* Ends all pages, since their directory was removed. */
    void (*end_pages)(gpointer data);
    gpointer data;
} StateOptions;

/* Takes the lock. Returns NULL without an error if another process has it; that process may be
 * about to end. */
State *state_open(const StateOptions *options, GError **error);

/* Writes remaining changes and releases the lock. */
void state_free(State *state);

/* Reads the file and restores it into the core, which must be empty and have its time set. A file
 * that can't be used is renamed. Returns FALSE if it can't be read now, for lack of resources. The
 * caller clears `restored` in any case. From here until state_end_recovery() crashes are counted:
 * crash-guard.h. */
gboolean state_restore(State *state, UserAgent *user_agent, Restored *restored, GError **error);

/* Writes the whole core to a new file, which replaces the old one. From now on changes have to be
 * noted. The files are watched: if they are removed they are written again, and the process ends if
 * another one has the lock then. */
gboolean state_begin(State *state, UserAgent *user_agent, GError **error);

/* The clients have been notified of what has changed in recovery. */
void state_end_recovery(void);

/* Creates a page of cells: cell-pages.h. NULL: none are offered, or there are no resources. */
CellPage *state_new_page(State *state, int *out_fd);

/* Sets UserAgent.room_bytes, and allocates room if there is little. Called before each request,
 * with the number of bytes of its strings. */
void state_reserve(State *state, gsize n_bytes);

/* Notes that a request was made, was granted, or has ended. */
void state_note_request(State *state, LockRequest *request);

/* Notes the deadline of a cluster's lease; 0: there is none. */
void state_note_deadline(State *state, gint64 deadline_us);

/* Notes that an agent has ended, after all its requests. */
void state_note_agent_gone(State *state, Agent *agent);

/* Writes the noted changes. If that fails, the process ends: nothing of this turn has been sent,
 * so for clients it is as if the process had ended before the turn. */
void state_commit(State *state);

/* Replaces the file if it has mostly ended agents and requests. Called when the output of the turn
 * is sent. Does nothing before state_begin(). */
void state_compact(State *state);

/* The bus has ended: state_free() removes the files, except one that was put aside. */
void state_discard(State *state);
