/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/error-private.h"

#include <string.h>

#include "common/wire-names.h"

/**
 * web_locks_error_quark:
 *
 * Gets the domain of the library's errors.
 *
 * Returns: the quark of `web-locks-error-quark`
 * Since: 0.1
 */
GQuark
web_locks_error_quark(void)
{
    return g_quark_from_static_string("web-locks-error-quark");
}

typedef struct {
    const char *name;
    WebLocksError code;
} ErrorRow;

/* What isn't here, and isn't InvalidArgs, says that the service can't be reached. */
static const ErrorRow error_table[] = {
    {WIRE_ERROR_NOT_SUPPORTED, WEB_LOCKS_ERROR_NOT_SUPPORTED},
    {WIRE_ERROR_SECURITY, WEB_LOCKS_ERROR_SECURITY},
    {WIRE_ERROR_INVALID_STATE, WEB_LOCKS_ERROR_INVALID_STATE},
    {WIRE_ERROR_NOT_HELD, WEB_LOCKS_ERROR_NOT_HELD},
    {WIRE_ERROR_LIMITS_EXCEEDED, WEB_LOCKS_ERROR_LIMITS},
    {WIRE_ERROR_ACCESS_DENIED, WEB_LOCKS_ERROR_SECURITY},
};

GError *
error_new_from_wire(const char *name, const char *message)
{
    if (message == NULL)
        message = name;
    if (g_strcmp0(name, WIRE_ERROR_INVALID_ARGS) == 0)
        return g_error_new_literal(G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, message);
    for (guint i = 0; i < G_N_ELEMENTS(error_table); i++)
        if (g_strcmp0(name, error_table[i].name) == 0)
            return g_error_new_literal(WEB_LOCKS_ERROR, (int)error_table[i].code, message);
    return g_error_new(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                       "The lock service can't be reached: %s", message);
}

GError *
error_new_from_errno(int r)
{
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE, g_strerror(-r));
}

GError *
error_new_from_reason(const char *reason)
{
    if (strcmp(reason, WIRE_REASON_STOLEN) == 0)
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN, "The lock was stolen");
    if (strcmp(reason, WIRE_REASON_TIMEOUT) == 0)
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT,
                                   "The lock was not granted in time");
    if (strcmp(reason, WIRE_REASON_TERMINATED) == 0)
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                                   "The connection to the bus ended, and the lock with it");
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                               "The lock was lost by the lock service");
}

GError *
error_new_unreadable(void)
{
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                               "The lock service gave an answer that can't be understood");
}
