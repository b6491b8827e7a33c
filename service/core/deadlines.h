/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* When waiting requests time out: a hierarchical timing wheel, so that adding and removing cost the
 * same whatever else waits.
 *
 * A deadline is put by the highest base-64 digit in which it differs from `now_ms`: digit k selects
 * the level, its value the slot. A level-0 slot is one millisecond; a higher slot is put again, by
 * finer digits, when the clock reaches its beginning. Exact to the millisecond, never early. */

#pragma once

#include <glib.h>

#include "core-types.h"

#define DEADLINES_LEVELS 11 /* 11 digits of 6 bits cover 64 */
#define DEADLINES_SLOTS  64

struct Deadlines {
    gint64 now_ms;                      /* monotonic; all deadlines in the wheel are later */
    guint64 occupied[DEADLINES_LEVELS]; /* a bit per slot */
    GQueue slots[DEADLINES_LEVELS][DEADLINES_SLOTS]; /* by LockRequest.in_deadlines */
};

void deadlines_init(Deadlines *deadlines);

/* `deadline_ms` must be later than the last deadlines_take_due(). */
void deadlines_add(Deadlines *deadlines, LockRequest *request, gint64 deadline_ms);

/* Nothing happens if it has no deadline (any more). */
void deadlines_remove(Deadlines *deadlines, LockRequest *request);

/* When to call deadlines_take_due() next: at or before the earliest deadline; -1 if there is none.
 */
gint64 deadlines_get_next_ms(const Deadlines *deadlines);

/* Moves the clock and appends each LockRequest whose deadline has come to `due`, removed from the
 * wheel. A clock that stands still or goes back moves nothing. */
void deadlines_take_due(Deadlines *deadlines, gint64 now_ms, GPtrArray *due);
