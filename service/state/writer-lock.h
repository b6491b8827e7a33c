/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The right to write the state of one bus: an exclusive lock on the file `BUS.lock` in the state
 * directory, which the kernel releases when the process ends.
 *
 * Directory and files belong to the user of the service, and to that user only: a directory that is
 * a symbolic link, has another owner or lets others in (mode 0700 does not) is refused, and so is a
 * file that has another owner, another name as well (a hard link), or is no regular file. */

#pragma once

#include <glib.h>

typedef struct {
    int fd;
    /* How many commits there were. In the file, which is mapped: so it survives the process. */
    guint64 *n_commits;
} WriterLock;

/* Creates the directory and the file if they are not there. NULL without an error: another process
 * has the lock. */
WriterLock *writer_lock_take(const char *directory, const char *bus, GError **error);
void writer_lock_free(WriterLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WriterLock, writer_lock_free)

/* Opens a file of the service's own for reading and writing; creates it if it is not there. -1: it
 * can't be opened, or is refused. */
int writer_lock_open_file(const char *path, GError **error);
