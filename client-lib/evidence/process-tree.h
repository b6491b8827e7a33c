/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which processes come from a process, as /proc shows it. */

#pragma once

#include "common/process-stat.h"

/* Returns an owned array of guint: this pid, and those of its children, of their children and so
 * on, at most `max`. One that is started meanwhile may be missing. */
GArray *process_tree_list(guint pid, guint max);

/* Returns FALSE if there is no such process, or it can't be seen. */
gboolean process_tree_read(guint pid, ProcessStat *out_stat);
