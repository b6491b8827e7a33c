/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which process this is, as seen by fork().
 *
 * Descriptors that are guarded are replaced by /dev/null in the child of a fork(). If the child
 * kept a connection to the bus open, the unique name would outlive the process that owns it, and so
 * would its locks. */

#pragma once

#include <glib.h>

/* Begins to count forks; from any thread, as often as you like. */
void process_init(void);

/* How many forks separate this process from the one that began to count. It is not asked for its
 * id, because that is a system call each time. */
extern int process_n_forks;

/* `fd` is a socket; it is guarded until it is unguarded, which has to be before it is closed. */
void process_guard_fd(int fd);
void process_unguard_fd(int fd);
