/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a descriptor proves about a document: that its holder has got, on a mount that may be
 * written, what the service itself sees at a path.
 *
 * A document is identified by its path, since a save by rename makes another file of it. The
 * descriptor has to be O_PATH. Its path is read from /proc/self/fd, which the kernel makes as for
 * the service, wherever the file is mounted for the holder. What the service finds there, without
 * symbolic links, must be the same file. A sandbox that mounts something else at that path, or the
 * file at another one, proves nothing.
 *
 * Nothing here waits, also if the file is on a network, or on a FUSE whose process is stopped: only
 * what the kernel has in memory is looked up (RESOLVE_CACHED), and nothing that may wait is done
 * before the mount is known to be of a local file system. The names that lead to an open file are
 * in memory; so a path that is not is none of it. Its absence, and what is there instead, is not
 * told apart: a caller can't find out by this which files there are. */

#pragma once

#include <glib.h>

#include "lock-result.h"

/* Whether the descriptor is one that can be closed without waiting. */
gboolean proof_is_path(int fd);

/* `fd` is that of a regular file, or with `name` that of a directory for a document in it, which
 * need not exist. On LOCK_RESULT_OK `*out_document` is the owned name of the document's lock. */
LockResult proof_of_file(int fd, const char *name, char **out_document);
