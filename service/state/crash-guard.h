/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A crash guard for recovery: a signal handler writes to a file at which record the process has
 * crashed, or that it was at none. What has crashed three processes within ten seconds is left out:
 * that record, or else the whole state.
 *
 * Only faults count, not a process that is killed or ends for lack of space. This is a protection
 * against bugs of the service, so errors of the guard itself are ignored. */

#pragma once

#include <glib.h>

/* Reads the file, and counts faults of this process from now on. There is one guard in a process.
 */
void crash_guard_begin(const char *path, gint64 now_us);

/* Whether this record has to be left out. If not, it is the one that is being restored. 0 and 0:
 * none is; whether the whole state has to be left out. */
gboolean crash_guard_skips(guint64 agent, guint64 id);

/* `is_over`: recovery has succeeded, so the file is removed. */
void crash_guard_end(gboolean is_over);
