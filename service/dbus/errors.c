/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "errors.h"

#include "bus-names.h"

typedef struct {
    const char *name;
    const char *text;
} ErrorsTableRow;

static const ErrorsTableRow errors_table[LOCK_RESULT_LIMIT] = {
    [LOCK_RESULT_SHUTTING_DOWN] = {BUS_ERROR_INVALID_STATE, "the service is shutting down"},
    [LOCK_RESULT_UNIDENTIFIED] = {BUS_ERROR_SECURITY, "the caller could not be identified"},
    [LOCK_RESULT_NO_LOOKUP] = {BUS_ERROR_LIMITS_EXCEEDED,
                               "too many callers are being identified; try again later"},
    [LOCK_RESULT_NOT_CARRIABLE] = {BUS_ERROR_INVALID_ARGS,
                                   "a string has a character that is not valid in D-Bus"},
    [LOCK_RESULT_NO_CLUSTER] = {BUS_ERROR_NOT_SUPPORTED,
                                "this machine is not configured for this bucket of a cluster"},
    [LOCK_RESULT_NO_ACCESS] = {BUS_ERROR_SECURITY,
                               "the caller is not permitted to use this bucket of a cluster"},
    [LOCK_RESULT_NO_HOST_NAME] =
        {BUS_ERROR_INVALID_ARGS, "option 'clientId' must have the name of a machine after 'host:'"},
    [LOCK_RESULT_NAME_RESERVED] = {BUS_ERROR_NOT_SUPPORTED,
                                   "names that begin with '-' are reserved"},
    [LOCK_RESULT_STEAL_IF_AVAILABLE] = {BUS_ERROR_NOT_SUPPORTED,
                                        "'steal' and 'ifAvailable' cannot be combined"},
    [LOCK_RESULT_STEAL_NOT_EXCLUSIVE] = {BUS_ERROR_NOT_SUPPORTED,
                                         "only an exclusive lock can be stolen"},
    [LOCK_RESULT_SIGNAL_STEAL_OR_IF_AVAILABLE] =
        {BUS_ERROR_NOT_SUPPORTED, "'signal' cannot be combined with 'steal' or 'ifAvailable'"},
    [LOCK_RESULT_TIMEOUT_IF_AVAILABLE] = {BUS_ERROR_INVALID_ARGS,
                                          "'timeout' and 'ifAvailable' cannot be combined"},
    [LOCK_RESULT_KEY_MISMATCH] = {BUS_ERROR_INVALID_ARGS,
                                  "'key' belongs to a live request for another lock"},
    [LOCK_RESULT_NOT_HELD] = {BUS_ERROR_NOT_HELD, "this client holds no lock with this id"},
    [LOCK_RESULT_UNREACHED] = {BUS_ERROR_UNAVAILABLE,
                               "other machines have not replied: their locks may still be held"},
    [LOCK_RESULT_NO_ROOM] = {BUS_ERROR_LIMITS_EXCEEDED,
                             "the request cannot be stored: no space left in the state directory"},
};

void
errors_set_from_result(sd_bus_error *error, LockResult result, const Limits *limits)
{
    if (result >= LOCK_RESULT_LIMIT) {
        LimitId id = (LimitId)(result - LOCK_RESULT_LIMIT);

        g_assert(id < N_LIMITS);
        sd_bus_error_setf(error, BUS_ERROR_LIMITS_EXCEEDED, "the limit %s (%u) is reached",
                          limit_id_get_name(id), limits->max[id]);
        return;
    }

    g_assert(errors_table[result].name != NULL);
    sd_bus_error_set(error, errors_table[result].name, errors_table[result].text);
}
