/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A crash guard for restoring: the record that is being restored is written to a file, so that the
 * next process can detect that this one crashed because of it. A record at which three processes
 * have crashed within ten seconds is left out, so that all others can be restored.
 *
 * This is a protection against bugs of the service, so errors of the guard itself are ignored. */

#pragma once

#include <glib.h>

/* The contents of the file. */
typedef struct {
    guint64 agent, id;         /* the record being restored; 0: none */
    guint64 bad_agent, bad_id; /* the record that was being restored at the last crash */
    guint64 n_deaths;          /* number of consecutive crashes at that record */
    gint64 first_us;           /* monotonic time of the first of these */
} CrashGuardMarks;

typedef struct {
    int fd; /* -1: the file can't be used */
    char *path;
    CrashGuardMarks marks;
} CrashGuard;

void crash_guard_begin(CrashGuard *self, const char *path, gint64 now_us);

/* Whether the record has to be left out. If not, it is marked as being restored. */
gboolean crash_guard_skips(CrashGuard *self, guint64 agent, guint64 id);

/* All records have been restored. */
void crash_guard_end(CrashGuard *self);
