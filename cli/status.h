/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Exit statuses, and what is said on standard error.
 *
 * The numbers are those of <sysexits.h>, as flock(1) uses them: they stay clear of 0 and 1, which
 * have a meaning of their own, and of 126 and up, which belong to commands and signals. */

#pragma once

#include <glib.h>

typedef enum {
    STATUS_OK = 0,
    STATUS_CONFLICT = 1,     /* `run`: not granted in time; `steal`: nobody held it */
    STATUS_USAGE = 64,       /* a wrong command line, a name that can't be */
    STATUS_UNAVAILABLE = 69, /* no bus, no service, or a limit of it reached */
    STATUS_SOFTWARE = 70,    /* what should not happen */
    STATUS_SYSTEM = 71,      /* the system has no more processes or memory to give */
    STATUS_OUTPUT = 74,      /* the output could not be written */
    STATUS_LOST = 75,        /* `run`: the lock was lost before the command had ended */
    STATUS_FORBIDDEN = 77,   /* the service does not know, or want, the caller */
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
    STATUS_SIGNALLED = 128, /* plus the signal's number */
} Status;

/* One line to standard error, after the program's name, safe for a terminal. */
void complain(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Says what went wrong; the status to end with. */
Status complain_of(const GError *error);

/* Writes out what was printed. If that can't be done it says so, and changes *status from OK; but
 * that a reader has left is its own business. FALSE if it is no use to print more. */
gboolean flush_output(Status *status);
