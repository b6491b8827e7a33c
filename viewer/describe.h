/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Texts of the window about a lock or request. Those that are not constant are translated, and
 * owned by the caller. */

#pragma once

#include <weblocks/weblocks.h>

/* A name that another program has chosen, for a sentence: it doesn't change the direction of the
 * text around it. */
char *viewer_isolate(const char *name);
/* "Held", "Held, shared", "Held, 3 slots", "Waiting" ... */
char *viewer_describe_state(WebLocksLockInfo *info);
/* "Shared", "3 slots"; "" for an exclusive lock of one. */
char *viewer_describe_mode(WebLocksLockInfo *info);
/* The time since the lock was granted or requested: "5 s", "3 min", "2 h 5 min", "3 d 4 h". */
char *viewer_describe_age(WebLocksLockInfo *info);
/* The name of the process, which the info or a constant owns. */
const char *viewer_get_process(WebLocksLockInfo *info);
/* Process name and id: "rsync (process 12)". */
char *viewer_describe_process(WebLocksLockInfo *info);
/* The command that ends the held lock: "weblocks break --bucket …". */
char *viewer_build_break_command(WebLocksLockInfo *info);
