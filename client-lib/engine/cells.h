/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The page of cells that the service shares with an agent; see common/lock-cell.h.
 *
 * The page stays at one address for as long as it exists: a new lock socket brings a new page,
 * which replaces the one before in one step. So a thread that uses a cell without the session lock
 * finds a cell at any time, and a closed one if there is no page. The page is not mapped in the
 * child of a fork(), where these functions must not be called.
 *
 * Reference-counted; numbers are taken and returned, and pages are mapped, with the session lock
 * held. */

#pragma once

#include "common/lock-cell.h"

typedef struct Cells Cells;

Cells *cells_new(void);
Cells *cells_ref(Cells *self);
void cells_unref(Cells *self);

/* Maps the page of a new socket, and takes its descriptor. -1, or what is not such a page: all
 * cells are closed. The cells of the page before must have been closed. */
void cells_map(Cells *self, int fd);

/* Whether the service has shared a page on this socket. */
gboolean cells_are_shared(const Cells *self);

/* Takes a number, which is valid on all pages. Returns 0 if there are no more. */
guint cells_take_number(Cells *self);
void cells_return_number(Cells *self, guint number);

/* A number belongs to one request at a time, from before that is sent until nothing is left of it:
 * if another one had its cell opened, the first could not see any more that it was parked. Returns
 * FALSE if a request has it already. */
gboolean cells_begin_request(Cells *self, guint number);
void cells_end_request(Cells *self, guint number);

/* Never NULL; `number` has been taken. */
LockCell *cells_get(Cells *self, guint number);
