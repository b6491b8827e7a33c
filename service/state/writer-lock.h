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

/* Creates the directory, and the file at `path` in it, if they are not there. Returns the lock's
 * descriptor; -1: it can't be taken, and if there is no error, another process has it. */
int writer_lock_take(const char *directory, const char *path, GError **error);

/* Opens a file of the service's own for reading and writing, and locks it; creates it if it is not
 * there. -1: it can't be opened, or is refused; without an error: another process has it. */
int writer_lock_open_file(const char *path, GError **error);

/* Locks an open file, for the same time as the lock. FALSE: another process has it. */
gboolean writer_lock_set(int fd);

/* Whether the open file has this name. */
gboolean writer_lock_is_at(int fd, const char *path);

/* Whether the error (or NULL) is that there are no descriptors or no memory now. */
gboolean writer_lock_is_scarcity(const GError *error);

/* Sets the error of `errno`. */
void writer_lock_set_error(GError **error, const char *path);
