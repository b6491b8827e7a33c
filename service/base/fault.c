/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "fault.h"

#include <signal.h>
#include <string.h>

#define POISON "poison:"
#define STOP   "stop:"

static const char *const names[N_FAULTS] = {
    [FAULT_SEND_BEFORE_COMMIT] = "send-before-commit",
    [FAULT_RELEASE_NOT_PERSISTED] = "release-not-persisted",
    [FAULT_TOKEN_NOT_PERSISTED] = "token-not-persisted",
    [FAULT_NO_LIVENESS_CHECK] = "no-liveness-check",
    [FAULT_ABORT_BREAKS_FIFO] = "abort-breaks-fifo",
    [FAULT_TERMINATE_BEFORE_DRAIN] = "terminate-before-drain",
    [FAULT_REPEAT_QUEUED_TWICE] = "repeat-queued-twice",
    [FAULT_BUS_ID_IGNORED] = "bus-id-ignored",
    [FAULT_GRANTED_DROPPED] = "granted-dropped",
    [FAULT_ORDER_LOST] = "order-lost",
    [FAULT_LOOKUP_ERROR_UNSANDBOXED] = "lookup-error-unsandboxed",
    [FAULT_PID_NOT_CHECKED_AGAIN] = "pid-not-checked-again",
    [FAULT_APP_ID_IGNORED] = "app-id-ignored",
    [FAULT_PROCESS_END_IGNORED] = "process-end-ignored",
    [FAULT_ROOT_TAKEN_FOR_OURS] = "root-taken-for-ours",
    [FAULT_SERVED_MOUNT_LOOKED_INTO] = "served-mount-looked-into",
    [FAULT_BROADCAST] = "broadcast",
    [FAULT_QUERY_UNFILTERED] = "query-unfiltered",
    [FAULT_FOREIGN_IDS] = "foreign-ids",
    [FAULT_ERROR_TELLS_NAME] = "error-tells-name",
    [FAULT_LOG_UNLIMITED] = "log-unlimited",
    [FAULT_LOG_UNESCAPED] = "log-unescaped",
    [FAULT_ID_REUSED] = "id-reused",
    [FAULT_SOCKET_OUTLIVES_NAME] = "socket-outlives-name",
    [FAULT_WATCH_UNFILTERED] = "watch-unfiltered",
    [FAULT_EXIT_WITHOUT_DRAIN] = "exit-without-drain",
    [FAULT_OPTION_UNCHECKED] = "option-unchecked",
    [FAULT_USERS_ARE_ONE] = "users-are-one",
    [FAULT_CHARGE_KEPT] = "charge-kept",
    [FAULT_SHARE_IGNORED] = "share-ignored",
    [FAULT_APP_LIMIT_IGNORED] = "app-limit-ignored",
    [FAULT_NO_BARRIER] = "no-barrier",
    [FAULT_FLOOD_KEPT] = "flood-kept",
    [FAULT_RETRY_FORGOTTEN] = "retry-forgotten",
    [FAULT_LOOKUPS_TAKE_ALL_DESCRIPTORS] = "lookups-take-all-descriptors",
    [FAULT_ENDS_SEARCHED_FOR] = "ends-searched-for",
    [FAULT_CLIENT_KEPT] = "client-kept",
};

/* NULL is none. A name that isn't known must not look like a fault that nobody notices. */
static const char *
get_asked(void)
{
    static const char *asked;
    static gsize is_read;

    if (g_once_init_enter(&is_read)) {
        asked = g_getenv("WEBLOCKS_FAULT");
        if (asked != NULL && !g_str_has_prefix(asked, POISON) && !g_str_has_prefix(asked, STOP)) {
            guint i = 0;

            while (i < N_FAULTS && strcmp(asked, names[i]) != 0)
                i++;
            if (i == N_FAULTS)
                g_error("WEBLOCKS_FAULT: there is no %s", asked);
        }
        g_once_init_leave(&is_read, 1);
    }
    return asked;
}

gboolean
fault_is(Fault fault)
{
    return g_strcmp0(get_asked(), names[fault]) == 0;
}

gboolean
fault_is_one_in(Fault fault, guint n)
{
    static guint n_calls;

    return fault_is(fault) && ++n_calls % n == 0;
}

gboolean
fault_poisons(const char *name)
{
    const char *asked = get_asked();

    return asked != NULL && g_str_has_prefix(asked, POISON) &&
           strcmp(asked + strlen(POISON), name) == 0;
}

void
fault_stop_at(const char *step)
{
    const char *asked = get_asked();

    if (asked != NULL && g_str_has_prefix(asked, STOP) && strcmp(asked + strlen(STOP), step) == 0)
        raise(SIGSTOP);
}
