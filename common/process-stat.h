/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Files of a process in /proc. Its directory, once opened, refers to that process alone: if that
 * ends, nothing more can be read. */

#pragma once

#include <glib.h>

/* Longer than a line of stat, whose numbers are of limited size; than most lists of groups, and
 * than most command lines up to the script. */
#define PROCESS_FILE_BYTES 2048

/* Returns how many bytes were read, behind which there is a NUL; 0 if it can't be read. */
gsize process_read_file(int directory, const char *name, char buffer[PROCESS_FILE_BYTES]);

typedef struct {
    char name[64]; /* as the process chooses it; any bytes */
    char state;    /* as in proc(5) */
    guint parent;  /* the pid of its parent; 0: it has none here */
    gboolean has_terminal;
    guint64 start_ticks;
    gint64 start_us; /* by boot_time_get_us(), at the latest a clock tick before */
} ProcessStat;

/* Opens the directory of a process, and reads its stat. Returns a descriptor, owned by the caller;
 * -1 if there is no such process, or it can't be seen, or it is not the one that is meant, since
 * the pid has been given to another one or is of another namespace: it was started after
 * `known_us`, or has another name than `name`, unless that is "". */
int process_stat_open(guint pid, const char *name, gint64 known_us, ProcessStat *out_stat);
