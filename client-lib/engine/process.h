/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which process this is, as seen by fork().
 *
 * Descriptors that are guarded are replaced by /dev/null in the child of a fork(). If the child
 * kept a connection to the bus open, the unique name would outlive the process that owns it, and so
 * would its locks. */

#pragma once

#include <glib.h>

/* How many forks separate this process from the one that first called this. */
int process_count_forks(void);

/* `fd` is a socket; it is guarded until it is unguarded, which has to be before it is closed. */
void process_guard_fd(int fd);
void process_unguard_fd(int fd);
