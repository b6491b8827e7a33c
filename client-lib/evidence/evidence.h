/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What suggests that something may be wrong with the holder of a lock. It is no proof: a process
 * may be stopped, and a lock be held for hours, for good reason; and a client that waits for one
 * lock may release another one meanwhile.
 *
 * There is only evidence about held locks for which at least one request is pending. It combines
 * the state of the process (process-look.h) and which clients wait for each other (wait-graph.h),
 * and is only updated by the functions below. What was found is stored with the WebLocksLockInfo.
 *
 * A holder whose process is `weblocks` is one that runs a command: what is said below of the
 * process of the holder is then also looked for in the processes that come from the command, by
 * their parents in /proc. And it waits for what these wait for.
 *
 * Evidence about a process is only given if /proc shows a process that has the pid, was started
 * before the lock was granted, and has the same name as when it called the service first, if that
 * is known. Otherwise it might be another process: one to which the pid was given later, or one in
 * a container. */

#pragma once

#include <weblocks/weblocks.h>

typedef enum {
    /* The process is stopped by a signal or by a debugger, state T or t of proc(5); or its control
     * group is frozen, by its cgroup.events in /sys/fs/cgroup. */
    EVIDENCE_STOPPED = 1 << 0,
    /* The main thread of the process has been runnable or in uninterruptible sleep, states R and D
     * of proc(5), for 10 seconds or longer without running. A process that waits for input is in
     * state S. The time begins with the first update that has found the process so, and ends with
     * one that finds it in another state, or finds that it has run. */
    EVIDENCE_NOT_SCHEDULED = 1 << 1,
    /* The lock has been held for an hour or longer. */
    EVIDENCE_HELD_LONG = 1 << 2,
    /* Clients wait for each other: the holder waits for a lock, whose holder waits for another one,
     * and so on, and one of them waits for this lock. Or the holder has waited for this lock itself
     * for a minute or longer; for a short time that is normal where an application uses locks among
     * its own tasks. Cycles are searched for between clients with a known process, not between
     * applications or hosts. */
    EVIDENCE_CYCLE = 1 << 3,
} Evidence;

/* As of the last update; 0 and "" if there is none. The text is one line of sentences for users, in
 * the language of the locale, with names that processes have chosen; valid until the next update.
 */
Evidence evidence_get(WebLocksLockInfo *info);
const char *evidence_get_text(WebLocksLockInfo *info);

/* Updates the evidence about an item of the monitor's lists, and returns whether it has changed.
 * Reads up to four small files of /proc and /sys; for a command, of up to 64 processes; and after a
 * change of the lists, if there is a command, one for each ancestor of up to 500 that wait. */
gboolean evidence_update(WebLocksMonitor *monitor, WebLocksLockInfo *info);

/* Updates that of all held locks in two lists, which may be those of several snapshots. */
void evidence_update_lists(GListModel *held, GListModel *pending);

/* Returns an owned text for a time in microseconds, in its largest unit: "15 s", "3 min", "2 h" or
 * "4 d". */
char *evidence_format_time(gint64 us);
