/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads the state of a process from /proc, and that of its control group from /sys, and compares it
 * with what was read before.
 *
 * A process is identified by its pid and its start time. A pid may have been given to another
 * process, so a process is only looked at if it started before the time at which the caller got
 * the pid and, if the caller knows its name, still has that name. All times are of
 * boot_time_get_us(). */

#pragma once

#include <glib.h>

/* What is kept between looks; initially all 0. */
typedef struct {
    guint64 start_ticks;  /* when the process started, in clock ticks since boot; 0: not known */
    guint64 run_ns;       /* for how long it had run on a CPU */
    gint64 idle_since_us; /* since when it has been runnable or in uninterruptible sleep, and has
                           * not run; 0: it was neither */
} ProcessLook;

/* Beside the states of proc(5), where it is S or D: the process is in a frozen control group. */
#define PROCESS_LOOK_FROZEN 'F'

/* Looks at process `pid` at the time `now_us`. `name` is its name, or "". `known_us` is a time at
 * which it was running.
 *
 * Returns the letter of its state as in proc(5), PROCESS_LOOK_FROZEN, or '\0' if there is no such
 * process or it can't be seen. `out_idle_us` is for how long it is known to have been runnable or
 * in uninterruptible sleep without running; 0 at the first look. */
char process_look(ProcessLook *self,
                  guint pid,
                  const char *name,
                  gint64 known_us,
                  gint64 now_us,
                  gint64 *out_idle_us);
