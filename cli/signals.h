/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Signals as events of the main loop, for a process with one child.
 *
 * Taken are those that a user or a session ends a program with, those a program may have a use of
 * its own for, and SIGCHLD. One that whoever started us has ignored (nohup, a shell's background
 * job) stays ignored. What was changed, a child changes back: signals_restore(). */

#pragma once

#include <glib.h>

/* First of all: writing to who does not read any more is an error like others, and no reason for a
 * lock to be lost. */
void signals_ignore_pipe(void);

/* Before there are other threads: they take over what is blocked. */
void signals_take(void);

/* Between fork() and exec(). */
void signals_restore(void);

/* `from_terminal`: from a key, which tells the whole foreground group. */
typedef void (*SignalHandler)(int number, gboolean from_terminal, gpointer data);

/* On the default main context; the source's id, or 0 with errno. */
guint signals_watch(SignalHandler handler, gpointer data);
