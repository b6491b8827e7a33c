/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Exit statuses and error messages.
 *
 * The numbers are those of <sysexits.h>, as flock(1) uses them. They differ from 1, the status of a
 * conflict, and from 126 and above, which stand for the command that was run and for signals. */

#pragma once

#include <glib.h>

typedef enum {
    STATUS_OK = 0,
    STATUS_CONFLICT = 1,     /* `run`, `hold`: not granted in time; the others: not held */
    STATUS_USAGE = 64,       /* invalid command line or lock name */
    STATUS_NO_FILE = 66,     /* the file of --also-flock could not be opened */
    STATUS_UNAVAILABLE = 69, /* no bus or no service, or a limit of the service was reached */
    STATUS_SOFTWARE = 70,    /* internal error */
    STATUS_SYSTEM = 71,      /* fork() or another system call failed for lack of resources */
    STATUS_OUTPUT = 74,      /* the output could not be written */
    STATUS_LOST = 75,        /* `run`, `hold`: the lock was lost while it was needed */
    STATUS_FORBIDDEN = 77,   /* the service could not identify the caller, or refuses it */
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNALLED = 128, /* plus the signal's number */
} Status;

/* Prints one line to standard error, after the program's name. Characters that could control a
 * terminal are escaped. */
void complain(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* From now on complain() doesn't block, whether standard error is read or not: a thread writes. For
 * a process that may hold a lock, since it has to react to a loss. */
void complain_in_thread(void);

/* Waits until all lines are written, but not for long. To be called before the process exits, and
 * before another one writes to standard error. */
void complain_flush(void);

/* Flushes standard output. If writing fails, prints an error and sets *status to STATUS_OUTPUT if
 * it was STATUS_OK, except for EPIPE: a reader may close the pipe early. Returns FALSE if further
 * output would fail too. */
gboolean flush_output(Status *status);
