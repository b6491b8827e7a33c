/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What the kernel tells of a process's mounts, without looking into any of them: the text of
 * /proc/PID/mountinfo, where mount points are seen from the process's root.
 *
 * Everybody may read it, of processes too whose root nobody else may open. */

#pragma once

#include <glib.h>

/* A mount, as far as we ask. */
typedef struct {
    guint n;           /* how many are mounted there; the rest tells of the last */
    char *device;      /* MAJOR:MINOR of the file system */
    char *directory;   /* what of it is mounted */
    gboolean may_hang; /* any of them is served by a process, which may not answer */
} MountPoint;

void mount_point_clear(MountPoint *point);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountPoint, mount_point_clear)

/* FALSE: that isn't what the kernel writes. Nothing mounted at `path` is TRUE and n 0. `out_point`
 * is to be cleared in any case. */
gboolean mountinfo_find(const char *text, const char *path, MountPoint *out_point);

/* The same for the mount of that number: n is 1, or 0 if it isn't in the list. */
gboolean mountinfo_find_id(const char *text, const char *id, MountPoint *out_point);

/* Whether both are the very same directory. */
gboolean mount_point_is_same(const MountPoint *a, const MountPoint *b);
