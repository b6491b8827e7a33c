/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Detection and handling of fork().
 *
 * In the child of a fork(), guarded descriptors are replaced by /dev/null. If the child kept the
 * connection to the bus open, the unique name and its locks would outlive the process that owns
 * them. */

#pragma once

#include <glib.h>

/* Installs the fork handlers. May be called repeatedly, from any thread. */
void process_init(void);

/* The number of forks between the process that called process_init() and this one. It replaces
 * comparing process ids, since getpid() is a system call. */
extern int process_n_forks;

/* Guards a socket. It must be unguarded before it is closed. */
void process_guard_fd(int fd);
void process_unguard_fd(int fd);
