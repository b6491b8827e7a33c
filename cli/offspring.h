/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The processes that came from the command of `weblocks run`, and how they are ended when its lock
 * is lost.
 *
 * They are those below one process in the tree of processes. A process whose parent has ended stays
 * in that tree if the root is a subreaper (prctl(2)). */

#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct {
    pid_t root;   /* this process, which gets no signal, or the command */
    double grace; /* between SIGTERM and SIGKILL, in seconds */
    /* Called when some may have ended without a SIGCHLD for this process. */
    void (*changed)(gpointer data);
    gpointer data;
    guint timer_id;
} Offspring;

/* Sends a signal to all of them. */
void offspring_signal(const Offspring *self, int number);

/* Sends SIGTERM to all of them, and after the grace SIGKILL, until offspring_clear(). Names those
 * that this process may not signal, which go on. To be called once. */
void offspring_end(Offspring *self);

/* Whether all have ended that this process may signal. */
gboolean offspring_has_ended(const Offspring *self);

void offspring_clear(Offspring *self);
