/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A process that is looked at while it may end at any moment, and its pid be somebody else's.
 *
 * It is held by a pidfd, and its directory of /proc was open while it still ran: so whatever is
 * found there is its own, or an error. Who has read what they wanted asks process_is_running() once
 * more: the mounts of a process that ends go away one by one, and half of them mislead. */

#pragma once

#include <glib.h>

typedef struct {
    guint32 pid;
    int pidfd;     /* owned; -1: it isn't open */
    int directory; /* of /proc, owned */
} Process;

#define PROCESS_NONE ((Process){.pidfd = -1, .directory = -1})

/* By a pidfd, which is taken over and decides alone, or by a pid if `pidfd` is -1. FALSE if it has
 * ended, or can't be looked at: then there is nothing to close. */
gboolean process_open(Process *process, guint32 pid, int pidfd);
void process_close(Process *process);

/* Closes what takes room; process_is_running() goes on. */
void process_close_directory(Process *process);

/* FALSE for a zombie too. */
gboolean process_is_running(const Process *process);

/* A descriptor of its root directory, which names it and can't be read; negative errno. */
int process_open_root(const Process *process);

/* The number of the mount that an open file is on: the file system isn't asked. Owned; NULL if it
 * can't be had. */
char *process_read_mount_id(int fd);

/* What the kernel calls it: up to 15 bytes of its own choice. Owned; NULL if it can't be had. */
char *process_read_name(const Process *process);

/* Its mountinfo, and our own. Owned; NULL if it can't be had, or is too long. */
char *process_read_mounts(const Process *process);
char *process_read_own_mounts(void);
