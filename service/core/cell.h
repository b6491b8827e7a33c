/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Locks with a cell: held locks that their clients leave and enter again by themselves, in memory
 * that they share with the service (lock-cell.h).
 *
 * While a request has a cell, only its client knows whether the lock is held or parked. So whoever
 * meets it closes the cell first: then it is an ordinary held lock, with the token and the time of
 * its last entry, or it is over, which nobody is notified of: EFFECT_RELEASED. Requests for the
 * name and operations of the lock do that themselves; before anything else that looks at requests,
 * the caller has to call one of the functions below.
 *
 * A request gets a cell when it is granted at once, if that was asked for, and if nothing else
 * could happen to the lock: it is exclusive and not counting, nobody waits for it, the bucket is
 * its client's own and not that of documents, which sandboxed applications share, and nobody
 * watches it. With the cell it is given a range of the bucket's tokens; those that are not used
 * return, if nobody has got a token since. None is more than TOKENS_AHEAD of the system clock, so
 * that a lock has no cell if it has been entered too often. */

#pragma once

#include <glib.h>

#include "core-types.h"
#include "lock-cell.h"

struct Cell {
    LockCell *memory; /* borrowed */
    gboolean is_open;
    LockRequest *request; /* borrowed; NULL: the cell is not used */
    guint64 last_token;   /* of its range */
    GList in_user_agent;
};

/* Opens the cells of requests that have got one since the last call. To be called when they are
 * stored, and before their clients are notified. */
void cells_open(UserAgent *user_agent);

/* Closes the cells that the requests of this agent have; all of them; those in buckets that the
 * observer may look at. */
void cells_close_of(Agent *agent);
void cells_close_all(UserAgent *user_agent);
void cells_close_seen_by(Principal *observer);

/* Limits what the memory says of a lock that was given these tokens, and is in `request`, to what
 * can be true: replaces its token and time. */
void
cell_apply(const LockCellClosed *closed, guint64 last_token, gint64 now_us, LockRequest *request);

/* ---- for the other files of the core */

/* Gives a request that has just been granted the cell, unless one of the above prevents it. */
void cell_give(LockRequest *request, Cell *cell);

/* Closes the cell of a request that has one. Returns FALSE if the request is over now. */
gboolean cell_close(LockRequest *request);

/* The same, for a request that ends in any case. Returns whether the lock is held. */
gboolean cell_take_away(LockRequest *request);
