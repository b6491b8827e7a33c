/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file that refuses late writers by fencing tokens.
 *
 * A lock can be stolen from a process that is stopped, or swapped out, while it saves. When the
 * process continues, it doesn't know that yet, and would overwrite its successor's changes. Each
 * grant has a fencing token that is greater than all before. The greatest token used so far is
 * stored in a file beside the protected one, .NAME.token, and smaller tokens are refused.
 *
 * Tokens start from the clock. If the clock is set back by more than the time in which no lock
 * service was running, the token file has to be deleted. */

#pragma once

#include <gio/gio.h>

/* Both functions fail with G_IO_ERROR_WRONG_ETAG if a later token has been used. */

/* Reads the file, with the token of a new lock. `*text` is owned by the caller; it is empty if the
 * file does not exist. */
gboolean fenced_file_read(const char *path, guint64 token, char **text, GError **error);

/* Replaces the contents of the file atomically. */
gboolean fenced_file_write(const char *path, guint64 token, const char *text, GError **error);
