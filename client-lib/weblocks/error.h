/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#pragma once

#if !defined(WEB_LOCKS_INSIDE) && !defined(WEB_LOCKS_COMPILATION)
#error "Only <weblocks/weblocks.h> can be included directly"
#endif

#include <weblocks/types.h>

G_BEGIN_DECLS

/**
 * WEB_LOCKS_ERROR:
 *
 * The error domain of [error@WebLocks.Error].
 *
 * Since: 0.1
 */
#define WEB_LOCKS_ERROR (web_locks_error_quark())

/**
 * WebLocksError:
 * @WEB_LOCKS_ERROR_NOT_SUPPORTED: the name is reserved, or the options exclude each other
 * @WEB_LOCKS_ERROR_SECURITY: the service could not identify the caller, or refuses it
 * @WEB_LOCKS_ERROR_INVALID_STATE: the agent was closed before, or belongs to another process (after
 *   a fork)
 * @WEB_LOCKS_ERROR_CLOSED: the agent was closed during the operation
 * @WEB_LOCKS_ERROR_STOLEN: another request has stolen the lock, or somebody has broken it
 * @WEB_LOCKS_ERROR_LOST: the lock service has restarted without the lock; the agent's connection to
 *   the bus has ended, or has flooded the service; or, in a bucket that several hosts share, this
 *   host had no contact with the cluster or was about to be suspended
 * @WEB_LOCKS_ERROR_TIMEOUT: the time-out of the request expired before it was granted
 * @WEB_LOCKS_ERROR_NOT_HELD: the lock had been released already
 * @WEB_LOCKS_ERROR_LIMITS: a limit of the service or of the bus was reached; the message names it
 * @WEB_LOCKS_ERROR_UNAVAILABLE: the bus or the service can't be reached, or a lock could not be
 *   stolen from other machines in time
 *
 * Errors of lock operations.
 *
 * Two errors are in GIO's domain: a cancelled operation fails with `G_IO_ERROR_CANCELLED`, and an
 * invalid argument with `G_IO_ERROR_INVALID_ARGUMENT`.
 *
 * Since: 0.1
 */
typedef enum {
    WEB_LOCKS_ERROR_NOT_SUPPORTED,
    WEB_LOCKS_ERROR_SECURITY,
    WEB_LOCKS_ERROR_INVALID_STATE,
    WEB_LOCKS_ERROR_CLOSED,
    WEB_LOCKS_ERROR_STOLEN,
    WEB_LOCKS_ERROR_LOST,
    WEB_LOCKS_ERROR_TIMEOUT,
    WEB_LOCKS_ERROR_NOT_HELD,
    WEB_LOCKS_ERROR_LIMITS,
    WEB_LOCKS_ERROR_UNAVAILABLE,
} WebLocksError;

GQuark web_locks_error_quark(void);

G_END_DECLS
