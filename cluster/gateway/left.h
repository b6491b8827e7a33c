/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file `left` in the state directory: the names for which a process has had claims in its
 * session when it ended in an orderly way. The next process, which goes on with the session, then
 * reads these names to find claims that nobody needs, and not those of all hosts. */

#pragma once

#include <glib.h>

/* `paths` has the paths of names as its keys. Without the file, which may fail to be written, the
 * next process reads all names. */
void left_save(const char *directory, guint64 session, GHashTable *paths);

/* Reads and deletes the file, which is of the process just before. Returns its lines. */
char **left_load(const char *directory);

/* Returns the paths of names, borrowed; NULL: `lines` are not of this session, or NULL. */
char **left_get_paths(char **lines, guint64 session);
