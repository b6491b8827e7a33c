/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Parsing of /proc/PID/mountinfo, the list of a process's mounts, with mount points relative to the
 * process's root.
 *
 * Reading it doesn't access the mounted file systems, and is permitted even for processes whose
 * root directory other users may not open. */

#pragma once

#include <glib.h>

/* The mounts at a mount point. The strings are owned. */
typedef struct {
    guint n;           /* number of mounts there; the following describe the last one */
    char *device;      /* MAJOR:MINOR of the file system */
    char *directory;   /* the directory of the file system that is mounted */
    char *type;        /* of the file system */
    gboolean may_hang; /* one of the mounts is FUSE: its process may not answer */
} MountPoint;

void mount_point_clear(MountPoint *point);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountPoint, mount_point_clear)

/* Finds the mounts at `path`; without any, n is 0. Returns FALSE if `text` is malformed.
 * `out_point` has to be cleared in any case. */
gboolean mountinfo_find(const char *text, const char *path, MountPoint *out_point);

/* Finds the mount with this id: n is 1, or 0 if it isn't in the list. */
gboolean mountinfo_find_id(const char *text, const char *id, MountPoint *out_point);

/* Whether both are the same directory of the same file system. */
gboolean mount_point_is_same(const MountPoint *a, const MountPoint *b);
