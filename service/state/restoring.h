/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which record is being restored, written down so that the next process knows whether this one died
 * of it. A record that three of them died of within ten seconds is not tried a fourth time: it must
 * not keep everybody else from their locks.
 *
 * It is for our own mistakes; so it does what it can, and what it can't do is no reason to stop. */

#pragma once

#include <glib.h>

/* What is in the file. */
typedef struct {
    guint64 agent, id;         /* being restored; 0 is none */
    guint64 bad_agent, bad_id; /* the last one that was being restored at a death */
    guint64 n_deaths;          /* one after the other, */
    gint64 first_us;           /* since then; monotonic */
} RestoringMarks;

typedef struct {
    int fd; /* -1: it can't be written down */
    char *path;
    RestoringMarks marks;
} Restoring;

void restoring_begin(Restoring *self, const char *path, gint64 now_us);

/* Whether it is to be left out. If not, it is the one now. */
gboolean restoring_skips(Restoring *self, guint64 agent, guint64 id);

/* All are restored. */
void restoring_end(Restoring *self);
