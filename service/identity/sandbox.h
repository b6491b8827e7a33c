/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* In which sandbox a process is: Flatpak's, a Snap's, or none.
 *
 * Flatpak marks the root of a sandbox with a file (see flatpak-info.h). "None" means that the root
 * directory is known and the file isn't there; every failure on the way is a refusal. Two things
 * are seen to first, with the help of the lists of mounts, its own and ours, which can be read
 * without touching any:
 *
 * - A file system that is served by a process may never answer, and there is one loop for all. Such
 *   a root, or file, is refused without a look; except if it is the root that we are on ourselves.
 *   So is a root whose mount is in neither list: a directory that is no mount point, of a process
 *   with mounts of its own.
 *   This has a limit: a program of our own user that may mount can put such a file system over the
 *   file a moment after we have read the list, or below an overlay.
 *
 * - A root may not be ours to open: another user's, or that of a program which the kernel protects
 *   from its own user since it has capabilities or keeps secrets. Then there is only one thing that
 *   can be known for certain: whether it is the very directory that is our own root, by file system
 *   and directory. If so, we look for the file there, where it would be; and nothing may be mounted
 *   over it. If it is another directory the process is refused: it is not enough that nothing is
 *   mounted there, since the proxy by which a sandboxed application comes to the bus has the file
 *   in its root as a plain one.
 *
 * A Snap's label needs no such proof: the kernel noted it when the connection was made. A process
 * that is marked in both ways is nobody's. */

#pragma once

#include <glib.h>

#include "principal.h"
#include "process.h"

/* The label is as in security_label_parse(). FALSE is a refusal; else *out_app_id is owned, "" if
 * unsandboxed. */
gboolean sandbox_identify(const Process *process,
                          const char *label,
                          gsize label_size,
                          PrincipalKind *out_kind,
                          char **out_app_id);
