/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Determines the sandbox of a process: Flatpak, Snap, or none.
 *
 * Flatpak marks the root of a sandbox with a file (see flatpak-info.h). The result is "none" only
 * if the root directory is known and has no such file; every failure is a refusal. Before the file
 * is opened, the mount lists of the process and of the service are checked, which doesn't access
 * the mounted file systems:
 *
 * - A file system that is served by a process (FUSE) may never answer, and would block the main
 *   loop. If the root or the file is on one, the process is refused without accessing it, unless
 *   it is the root of the service itself. A root whose mount is in neither list is refused, too:
 *   it is a directory that is not a mount point, of a process with separate mounts.
 *   Limitation: a program of the same user that may mount can mount a FUSE file system over the
 *   file right after the list was read, or below an overlay.
 *
 * - The service may lack permission to open the root: it belongs to another user, or to a program
 *   that the kernel protects from its own user, for example because of capabilities. Then the root
 *   can only be compared, by file system and directory, with the service's own root. If both are
 *   the same and nothing is mounted over the file, the file is looked for in the service's own
 *   root. Otherwise the process is refused. It would not be enough that no file is mounted there,
 *   since in the root of the proxy that connects a sandboxed application to the bus, the file is
 *   a regular one.
 *
 * The label of a Snap needs no further verification, since the kernel recorded it when the
 * connection was made. A process with both marks is refused. */

#pragma once

#include <glib.h>

#include "principal.h"
#include "process.h"

/* The label is as in security_label_parse(). Returns FALSE for a refusal. Otherwise *out_app_id is
 * owned by the caller, and "" if the process is unsandboxed. */
gboolean sandbox_identify(const Process *process,
                          const char *label,
                          gsize label_size,
                          PrincipalKind *out_kind,
                          char **out_app_id);
