/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The name by which people know who holds a lock or waits for it, in this one place: for the
 * command, the viewer, and every program that shows a WebLocksLockInfo. */

#pragma once

#include <weblocks/weblocks.h>

/* Returns an owned name, and the process that it is of, which is 0 if that is not known. `command`
 * is the request's option `for`, or "". Reads small files of /proc, and a desktop entry. */
char *who_get(WebLocksLockInfo *info, const char *command, guint *out_pid);
