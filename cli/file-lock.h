/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file locked by flock(2), which excludes the users of flock(1). It is unlocked when its
 * descriptor is closed. */

#pragma once

#include <gio/gio.h>

/* Opens a file or directory, or creates an empty file. Returns a close-on-exec descriptor, or -1
 * and errno. */
int file_lock_open(const char *path);

/* Locks the file, if it is available immediately. Returns 0 or an errno: EWOULDBLOCK if it is
 * locked by another process. NFS refuses an exclusive lock of a file that is not open for writing:
 * then it is opened for writing too, under the same number. */
int file_lock_try(int fd, gboolean shared);

/* Waits for the lock in a thread, which blocks until it has it, even if the process no longer wants
 * it: then the process should exit. */
void file_lock_wait_async(int fd, gboolean shared, GAsyncReadyCallback callback, gpointer data);
/* Returns 0 or an errno. */
int file_lock_wait_finish(GAsyncResult *result);

/* Returns a text for people about an error of file_lock_try() or file_lock_wait_finish(). */
const char *file_lock_describe(int error);
