/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Access to a process that may end at any time, and whose pid may be reused.
 *
 * The Process owns a pidfd, and a descriptor of the process's /proc directory that was opened while
 * the process was running: reading files there returns data of this process or fails. After
 * reading, the caller has to check process_is_running(), since the mounts of an ending process
 * disappear one after the other, and an incomplete list would be misleading. */

#pragma once

#include <glib.h>

typedef struct {
    guint32 pid;
    int pidfd;     /* owned; -1: not open */
    int directory; /* /proc/PID, owned */
} Process;

#define PROCESS_NONE ((Process){.pidfd = -1, .directory = -1})

/* Opens a process by `pidfd`, of which it takes ownership, or by `pid` if `pidfd` is -1. Returns
 * FALSE, with nothing to close, if the process has ended or can't be accessed. */
gboolean process_open(Process *process, guint32 pid, int pidfd);
void process_close(Process *process);

/* Closes the /proc directory; process_is_running() can still be called. */
void process_close_directory(Process *process);

/* Reads an open file to its end, without relying on its size. Returns the owned contents and a NUL,
 * or NULL on error or if it is longer than `max`. */
char *process_read_fd(int fd, gsize max, gsize *out_size);

/* Returns FALSE for a zombie, too. */
gboolean process_is_running(const Process *process);

/* Returns an O_PATH descriptor of the process's root directory, owned by the caller, or a negative
 * errno. */
int process_open_root(const Process *process);

/* Returns the owned id of the mount that an open file is on, or NULL on error. The file system is
 * not accessed. */
char *process_read_mount_id(int fd);

/* Returns the process's name, which it can choose itself: up to 15 bytes, owned; NULL on error. */
char *process_read_name(const Process *process);

/* Return the mountinfo of the process and of the service itself, owned; NULL on error or if it is
 * too long. */
char *process_read_mounts(const Process *process);
char *process_read_own_mounts(void);
