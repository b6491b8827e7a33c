/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Faults that can be asked for, each a mistake that this service must not make: the tests show with
 * them that they would notice. They are in no program that is installed: only weblocksd-faulty is
 * built with WEBLOCKS_SEEDED_FAULTS, and does what its environment's WEBLOCKS_FAULT names. */

#pragma once

#include <glib.h>

typedef enum {
    FAULT_SEND_BEFORE_COMMIT,
    FAULT_RELEASE_NOT_PERSISTED,
    FAULT_TOKEN_NOT_PERSISTED,
    FAULT_NO_LIVENESS_CHECK,
    FAULT_ABORT_BREAKS_FIFO,
    FAULT_TERMINATE_BEFORE_DRAIN,
    FAULT_REPEAT_QUEUED_TWICE,
    FAULT_BUS_ID_IGNORED,
    FAULT_GRANTED_DROPPED,
    FAULT_ORDER_LOST,
    FAULT_LOOKUP_ERROR_UNSANDBOXED,
    FAULT_PID_NOT_CHECKED_AGAIN,
    FAULT_APP_ID_IGNORED,
    FAULT_PROCESS_END_IGNORED,
    FAULT_ROOT_TAKEN_FOR_OURS,
    FAULT_SERVED_MOUNT_LOOKED_INTO,
    FAULT_BROADCAST,
    FAULT_QUERY_UNFILTERED,
    FAULT_FOREIGN_IDS,
    FAULT_ERROR_TELLS_NAME,
    FAULT_LOG_UNLIMITED,
    FAULT_LOG_UNESCAPED,
    FAULT_ID_REUSED,
    FAULT_SOCKET_OUTLIVES_NAME,
    FAULT_WATCH_UNFILTERED,
    FAULT_EXIT_WITHOUT_DRAIN,
    FAULT_OPTION_UNCHECKED,
    FAULT_USERS_ARE_ONE,
    FAULT_CHARGE_KEPT,
    FAULT_SHARE_IGNORED,
    FAULT_APP_LIMIT_IGNORED,
    FAULT_NO_BARRIER,
    FAULT_FLOOD_KEPT,
    FAULT_RETRY_FORGOTTEN,
    FAULT_LOOKUPS_TAKE_ALL_DESCRIPTORS,
    FAULT_ENDS_SEARCHED_FOR,
    FAULT_CLIENT_KEPT,
    N_FAULTS,
} Fault;

#ifdef WEBLOCKS_SEEDED_FAULTS
#define FAULT_BUILD TRUE
gboolean fault_is(Fault fault);

/* TRUE for one in so many calls, if that fault is asked for. */
gboolean fault_is_one_in(Fault fault, guint n);

/* "poison:NAME": restoring a request for the lock of that name is fatal. */
gboolean fault_poisons(const char *name);

/* "stop:STEP": the service stops there (SIGSTOP), so that a test can do what it likes meanwhile. */
void fault_stop_at(const char *step);
#else
#define FAULT_BUILD FALSE
static inline gboolean
fault_is(Fault fault)
{
    return FALSE;
}

static inline gboolean
fault_is_one_in(Fault fault, guint n)
{
    return FALSE;
}

static inline gboolean
fault_poisons(const char *name)
{
    return FALSE;
}

static inline void
fault_stop_at(const char *step)
{
}
#endif
