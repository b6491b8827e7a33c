/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

/**
 * WebLocksEvidence:
 * @WEB_LOCKS_EVIDENCE_STOPPED: The holder's process is stopped by a signal or by a debugger, state
 *   `T` or `t` of proc(5); or its control group is frozen, by its `cgroup.events` in
 *   `/sys/fs/cgroup`.
 * @WEB_LOCKS_EVIDENCE_NOT_SCHEDULED: The main thread of the holder's process has been runnable or
 *   in uninterruptible sleep, states `R` and `D` of proc(5), for 10 seconds or longer without
 *   running. A process that waits for input is in state `S`, so there is no evidence against it.
 * The time begins with the first update that has found the process so, and ends with one that finds
 *   it in another state, or finds that it has run.
 * @WEB_LOCKS_EVIDENCE_HELD_LONG: The lock has been held for an hour or longer.
 * @WEB_LOCKS_EVIDENCE_CYCLE: Clients wait for each other: the holder waits for a lock, whose holder
 *   waits for another one, and so on, and one of them waits for this lock. Or, for a minute or
 *   longer, the holder has waited for this lock, or another that it holds, itself; for a short time
 *   that is normal where an application uses locks among its own tasks.
 *
 * What suggests that something may be wrong with the holder of a lock. It is no proof: a process
 * may be stopped, and a lock be held for hours, for good reason; and a client that waits for one
 * lock may release another one meanwhile.
 *
 * There is only evidence about held locks for which at least one request is pending.
 *
 * Evidence about a process is only given if /proc shows a process that has the pid, was started
 * before the lock was granted, and has the same name as when it called the service first, if that
 * is known. Otherwise it might be another process: one to which the pid was given later, or one in
 * a container.
 *
 * Cycles are searched for between clients with a known process, not between applications or hosts,
 * and among those locks and requests that are passed to the update, or that the monitor has.
 *
 * Since: 0.1
 */
typedef enum {
    WEB_LOCKS_EVIDENCE_STOPPED = 1 << 0,
    WEB_LOCKS_EVIDENCE_NOT_SCHEDULED = 1 << 1,
    WEB_LOCKS_EVIDENCE_HELD_LONG = 1 << 2,
    WEB_LOCKS_EVIDENCE_CYCLE = 1 << 3,
} WebLocksEvidence;

#define WEB_LOCKS_TYPE_LOCK_INFO (web_locks_lock_info_get_type())
WEB_LOCKS_PUBLIC
G_DECLARE_FINAL_TYPE(WebLocksLockInfo, web_locks_lock_info, WEB_LOCKS, LOCK_INFO, GObject)

WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_name(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
WebLocksMode web_locks_lock_info_get_mode(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
gboolean web_locks_lock_info_get_held(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_client_id(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint64 web_locks_lock_info_get_token(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_why(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_pid(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_process(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint64 web_locks_lock_info_get_id(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
gint64 web_locks_lock_info_get_since(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_application(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
WebLocksManager *web_locks_lock_info_get_manager(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_uid(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
guint web_locks_lock_info_get_position(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *const *web_locks_lock_info_get_blocked_by(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
WebLocksEvidence web_locks_lock_info_get_evidence(WebLocksLockInfo *self);
WEB_LOCKS_PUBLIC
const char *web_locks_lock_info_get_evidence_text(WebLocksLockInfo *self);

WEB_LOCKS_PUBLIC
void web_locks_lock_info_update_evidence(GListModel *held, GListModel *pending);

G_END_DECLS
