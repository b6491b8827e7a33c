/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A cell: an exclusive lock in memory that the service and one client share, which the client
 * leaves and enters again by one atomic instruction each, as long as nobody else wants it.
 *
 * While the cell is open, its word belongs to the client: the lock is held, or parked, that is
 * granted to the client and not held. The service closes the cell by one instruction, without the
 * client's help, and what that instruction returns decides: a lock that was held is an ordinary
 * lock from then on, one that was parked is over. To the client, a closed cell only means that it
 * has to use its lock socket.
 *
 * 64 cells are a page, which the client maps. Cell 0 of a page is not used. The service must not
 * trust any field: its caller limits the token to the range that it has opened the cell with, and
 * nothing here waits for the other side. docs/socket-protocol.md describes the use. */

#pragma once

#include <glib.h>

#define LOCK_CELL_OPEN 1u
#define LOCK_CELL_HELD 2u

#define LOCK_CELLS_PER_PAGE 64u
#define LOCK_CELL_PAGE_SIZE 4096u

typedef struct {
    guint64 word; /* atomic: token << 2, LOCK_CELL_HELD, LOCK_CELL_OPEN */
    /* Written by the service before it opens the cell. */
    guint64 key;  /* of the request */
    guint64 last; /* the last token that the client may use */
    /* Written by the client: when it entered with the token `since_token`, in microseconds of
     * CLOCK_MONOTONIC, as the service notes the time of a grant; from the coarse clock. */
    guint64 since;
    guint64 since_token;
    /* Written by the service when it has opened the cell, for its successor: its number of the
     * client, and its id of the request. */
    guint64 agent;
    guint64 request;
    guint64 reserved;
} LockCell;

/* What the service finds when it closes a cell. */
typedef struct {
    gboolean is_held;
    guint64 token;   /* as the client has left it */
    gint64 since_us; /* when it was entered; 0: not known */
} LockCellClosed;

/* ---- the service's */

/* Opens a closed cell for a lock that is held with the token `first`. */
void lock_cell_open(LockCell *cell, guint64 key, guint64 first, guint64 last);

/* Says for a successor of the service whose request the open cell is for. Until it does, the lock
 * is to a successor one without a cell, which is held: its client does not know of the cell yet. */
void lock_cell_identify(LockCell *cell, guint64 agent, guint64 request);

/* Closes the cell. */
void lock_cell_close(LockCell *cell, LockCellClosed *out_closed);

/* ---- the client's */

gboolean lock_cell_is_open(const LockCell *cell);

/* Whether the cell is open for the request with this key, and held with this token. */
gboolean lock_cell_is_held(const LockCell *cell, guint64 key, guint64 token);

/* Takes a parked lock; `*out_token` is its new token. Returns FALSE and changes nothing if the cell
 * is not open for this key, held already, or has no more tokens. */
gboolean lock_cell_enter(LockCell *cell, guint64 key, guint64 *out_token);

/* Parks a lock that is held with this token. Returns FALSE and changes nothing if it is not, or if
 * the cell is closed: then the lock has to be released by the socket. */
gboolean lock_cell_leave(LockCell *cell, guint64 token);
