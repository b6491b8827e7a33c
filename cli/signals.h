/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Signals are read from a descriptor (signalfd), in a process with children.
 *
 * The signals are SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 and SIGCHLD. A signal that was
 * ignored when this process was started (by nohup, or in a background job of a shell) stays
 * ignored. The original mask and dispositions are stored in static variables; the child restores
 * them by signals_restore() before exec(). */

#pragma once

#include <glib.h>

/* Ignores SIGPIPE, so that writing to a closed pipe is an error and does not end the process, which
 * would lose the lock. */
void signals_ignore_pipe(void);

/* Blocks the signals. Must be called before other threads are started, since threads
 * inherit the signal mask. Child processes inherit it, too. */
void signals_take(void);

/* To be called between fork() and exec(); async-signal-safe. */
void signals_restore(void);

/* Whether a signal other than SIGCHLD has arrived for which the handler was not called yet. */
gboolean signals_pending(void);

/* Returns a descriptor that is readable when there is a signal, or -1 and errno. */
int signals_open(void);

/* Takes one signal. Returns FALSE if there is none. `from_terminal`: the terminal sent it, so the
 * whole foreground process group got it. */
gboolean signals_read(int fd, int *out_number, gboolean *out_from_terminal);
