/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file that refuses late writers.
 *
 * A lock can be stolen from a program that is stopped, or swapped out, in the middle of a save.
 * When it wakes up it doesn't know yet, and would write over the work of its successor. Each grant
 * has a fencing token, greater than all before it, so the file remembers the greatest it has seen
 * and lets nobody with a smaller one in. Files have no place for that which every file system
 * knows, so it is in a small file beside it: .NAME.token.
 *
 * Tokens start from the clock. Who sets the clock back by more than the lock service was away must
 * delete the small file. */

#pragma once

#include <gio/gio.h>

/* Both fail with G_IO_ERROR_WRONG_ETAG if the file has seen a later token. */

/* Shows the file the token of a new lock, and reads it. No file is an empty file. */
gboolean fenced_file_read(const char *path, guint64 token, char **text, GError **error);

/* Writes all of it or nothing. */
gboolean fenced_file_write(const char *path, guint64 token, const char *text, GError **error);
