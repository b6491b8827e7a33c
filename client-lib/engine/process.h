/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Detection and handling of fork(), with what needs it: the library's static mutexes, its sockets,
 * and the eventfd of a thread.
 *
 * In the child of a fork(), guarded descriptors are replaced by /dev/null. If the child kept the
 * connection to the bus open, the unique name and its locks would outlive the process that owns
 * them. */

#pragma once

#include <glib.h>

/* The number of forks between the process that loaded the library and this one. It replaces
 * comparing process ids, since getpid() is a system call. */
extern int process_n_forks;

/* All static mutexes of the library, in the order in which a thread may lock several of them.
 * fork() waits until no other thread has one, so the child can use them and the data that they
 * protect. So nothing may block while one is locked. */
typedef enum {
    PROCESS_MUTEX_AGENTS, /* the list of default agents */
    PROCESS_MUTEX_FDS,    /* the list of guarded descriptors */
    N_PROCESS_MUTEXES,
} ProcessMutex;

void process_lock(ProcessMutex mutex);
void process_unlock(ProcessMutex mutex);

/* Returns the eventfd by which the calling thread is woken when it polls, one for all its calls; -1
 * if no descriptor is left. */
int process_get_wake_fd(void);

/* Opens a socket that does not block, and that is guarded before a fork() can happen. Returns -1
 * and sets `errno` on failure. */
int process_open_socket(int domain, int type);

/* Guards a socket. It must be unguarded before it is closed. */
void process_guard_fd(int fd);
void process_unguard_fd(int fd);
