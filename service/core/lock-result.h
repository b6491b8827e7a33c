/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The results of core operations.
 *
 * These are codes only. dbus/encode.c maps each to a D-Bus error and its text. After a result other
 * than LOCK_RESULT_OK nothing has changed. */

#pragma once

#include "limit-id.h"

typedef enum {
    LOCK_RESULT_OK,
    /* With ifAvailable: the request is not grantable. This is not an error [4.1]. */
    LOCK_RESULT_UNAVAILABLE,
    LOCK_RESULT_SHUTTING_DOWN,
    /* Not from the core: the caller's principal can't be determined [3.2.1]. */
    LOCK_RESULT_UNIDENTIFIED,
    /* Not from the core: too few resources to identify the caller. */
    LOCK_RESULT_NO_LOOKUP,
    /* Not from the core: a string has a character that is not valid in D-Bus. */
    LOCK_RESULT_NOT_CARRIABLE,
    /* Not from the core: the object path is that of another principal, for which the caller may not
     * make this call. */
    LOCK_RESULT_NO_PATH,
    /* Not from the core: the name of a group's bucket that can't be one, or not on this bus. */
    LOCK_RESULT_NO_GROUP,
    /* Not from the core: other users hold the lock or wait for it, so the caller may not end it. */
    LOCK_RESULT_OF_OTHERS,
    /* Not from the core: other users may hold the lock on other hosts, so only uid 0 may end it. */
    LOCK_RESULT_NOT_ROOT,
    /* Not from the core: a bucket of several machines, and this one is not configured for it. */
    LOCK_RESULT_NO_CLUSTER,
    /* Not from the core: the caller may not use this bucket. */
    LOCK_RESULT_NO_ACCESS,
    /* Not from the core: the public name of a private session, for a call that needs its name. */
    LOCK_RESULT_NO_SESSION,
    /* Not from the core: documents of the user, where they can't be opened. */
    LOCK_RESULT_NO_DOCUMENTS,
    /* Not from the core: the caller has not proved that it may write this document. */
    LOCK_RESULT_NOT_PROVED,
    /* Not from the core: it can't be determined whether it may, without waiting for a server. */
    LOCK_RESULT_NOT_LOCAL,
    /* Not from the core: whether it may can't be determined now. */
    LOCK_RESULT_NOT_NOW,
    /* Not from the core: what is given as the name of another machine can't be one. */
    LOCK_RESULT_NO_HOST_NAME,
    LOCK_RESULT_NAME_RESERVED,
    LOCK_RESULT_STEAL_IF_AVAILABLE,
    LOCK_RESULT_STEAL_NOT_EXCLUSIVE,
    LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE,
    LOCK_RESULT_TIMEOUT_IF_AVAILABLE,
    LOCK_RESULT_SLOTS_NOT_EXCLUSIVE,
    LOCK_RESULT_SLOTS_IN_CLUSTER,
    LOCK_RESULT_KEY_MISMATCH,
    LOCK_RESULT_NOT_HELD,
    LOCK_RESULT_OTHER_HOLDERS, /* a counting lock that others hold too can't be downgraded */
    /* Not from the core: a Break that other hosts of the cluster may not have got. */
    LOCK_RESULT_UNREACHED,
    LOCK_RESULT_NO_ROOM, /* the request can't be stored: no space left */
    /* LOCK_RESULT_LIMIT + n: LimitId n is reached. */
    LOCK_RESULT_LIMIT,
    LOCK_RESULT_COUNT = LOCK_RESULT_LIMIT + N_LIMITS,
} LockResult;

static inline LockResult
lock_result_limit(LimitId id)
{
    return (LockResult)(LOCK_RESULT_LIMIT + id);
}
