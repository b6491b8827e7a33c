/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a core operation answers: done, or which rule it broke.
 *
 * Codes only. The edge's one table (dbus/errors.c) gives each its D-Bus error and its text. A
 * result other than LOCK_RESULT_OK means that nothing has changed. */

#pragma once

#include "limit-accounts.h"

typedef enum {
    LOCK_RESULT_OK,
    /* ifAvailable, and not grantable now: an answer, not an error [4.1] */
    LOCK_RESULT_UNAVAILABLE,
    LOCK_RESULT_SHUTTING_DOWN,
    /* The edge's: it can't be found out whose principal the caller has [3.2.1]. */
    LOCK_RESULT_UNIDENTIFIED,
    /* The edge's: a text has a character that D-Bus cannot carry. */
    LOCK_RESULT_NOT_CARRIABLE,
    LOCK_RESULT_NAME_RESERVED,
    LOCK_RESULT_STEAL_IF_AVAILABLE,
    LOCK_RESULT_STEAL_NOT_EXCLUSIVE,
    LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE,
    LOCK_RESULT_TIMEOUT_IF_AVAILABLE,
    LOCK_RESULT_KEY_MISMATCH,
    LOCK_RESULT_NOT_HELD,
    LOCK_RESULT_NO_ROOM, /* to keep it in */
    /* LOCK_RESULT_LIMIT + n: limit n of limits.h is reached. */
    LOCK_RESULT_LIMIT,
    LOCK_RESULT_COUNT = LOCK_RESULT_LIMIT + N_LIMITS,
} LockResult;

static inline LockResult
lock_result_limit(LimitId id)
{
    return (LockResult)(LOCK_RESULT_LIMIT + id);
}
