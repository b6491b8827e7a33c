/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The time-outs of pending requests: a hierarchical timing wheel, in which adding and removing take
 * constant time.
 *
 * The position of a deadline depends on the highest base-64 digit in which it differs from
 * `now_ms`: the digit's index is the level, its value the slot. A slot of level 0 is one
 * millisecond. When the clock reaches the beginning of a slot of a higher level, its requests are
 * distributed to lower levels. Deadlines expire exactly to the millisecond, never early. Requests
 * are borrowed. */

#pragma once

#include <glib.h>

#include "core-types.h"

#define DEADLINES_LEVELS 11 /* 11 digits of 6 bits cover 64 */
#define DEADLINES_SLOTS  64

struct Deadlines {
    gint64 now_ms;                      /* monotonic; all deadlines in the wheel are later */
    guint64 occupied[DEADLINES_LEVELS]; /* one bit for each slot that is not empty */
    GQueue slots[DEADLINES_LEVELS][DEADLINES_SLOTS]; /* by LockRequest.in_deadlines */
};

void deadlines_init(Deadlines *deadlines);

/* `deadline_ms` must be later than the last deadlines_take_due(). */
void deadlines_add(Deadlines *deadlines, LockRequest *request, gint64 deadline_ms);

/* Does nothing if the request has no deadline in the wheel. */
void deadlines_remove(Deadlines *deadlines, LockRequest *request);

/* Returns when to call deadlines_take_due() next, which is not later than the earliest deadline, or
 * -1 if there is none. */
gint64 deadlines_get_next_ms(const Deadlines *deadlines);

/* Advances the clock, and moves each LockRequest whose deadline has expired from the wheel to
 * `due`. Does nothing if `now_ms` is not later than before. */
void deadlines_take_due(Deadlines *deadlines, gint64 now_ms, GPtrArray *due);
