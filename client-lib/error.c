/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "config.h"

#include "client-lib/error-private.h"

#include <glib/gi18n-lib.h>

#include "common/bus-names.h"

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

/* InvalidArgs becomes G_IO_ERROR_INVALID_ARGUMENT; errors that are not in this table become
 * WEB_LOCKS_ERROR_UNAVAILABLE. */
static const ErrorRow error_table[] = {
    {BUS_ERROR_NOT_SUPPORTED, WEB_LOCKS_ERROR_NOT_SUPPORTED},
    {BUS_ERROR_SECURITY, WEB_LOCKS_ERROR_SECURITY},
    {BUS_ERROR_INVALID_STATE, WEB_LOCKS_ERROR_INVALID_STATE},
    {BUS_ERROR_NOT_HELD, WEB_LOCKS_ERROR_NOT_HELD},
    {BUS_ERROR_LIMITS_EXCEEDED, WEB_LOCKS_ERROR_LIMITS},
    {BUS_ERROR_ACCESS_DENIED, WEB_LOCKS_ERROR_SECURITY},
};

GError *
error_new_from_dbus(const char *name, const char *message)
{
    if (message == NULL)
        message = name;
    if (g_strcmp0(name, BUS_ERROR_INVALID_ARGS) == 0)
        return g_error_new_literal(G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, message);
    for (guint i = 0; i < G_N_ELEMENTS(error_table); i++)
        if (g_strcmp0(name, error_table[i].name) == 0)
            return g_error_new_literal(WEB_LOCKS_ERROR, (int)error_table[i].code, message);
    return error_new_unavailable(message);
}

GError *
error_new_unavailable(const char *why)
{
    return g_error_new(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                       _("cannot reach the lock service: %s"), why);
}

static GError *
error_new_from_limit(guint32 limit)
{
    const char *name = limit > 0 ? limit_id_get_name(limit - 1) : NULL;

    if (name == NULL)
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS,
                                   _("the lock service cannot store the request: no space left"));
    return g_error_new(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LIMITS, _("the limit %s is reached"), name);
}

GError *
error_new_from_answer(const PacketAnswer *answer)
{
    static const struct {
        WebLocksError code;
        const char *message;
    } errors[N_PACKET_ERRORS] = {
        [PACKET_ERROR_NOT_SUPPORTED] =
            {WEB_LOCKS_ERROR_NOT_SUPPORTED,
             N_("the name is reserved, the options exclude each other, or this machine is not "
                "configured for the bucket")},
        [PACKET_ERROR_INVALID_STATE] = {WEB_LOCKS_ERROR_INVALID_STATE,
                                        N_("the lock service is shutting down")},
        [PACKET_ERROR_NOT_HELD] = {WEB_LOCKS_ERROR_NOT_HELD, N_("the lock is not held")},
        [PACKET_ERROR_SECURITY] = {WEB_LOCKS_ERROR_SECURITY,
                                   N_("the caller is not permitted to use this bucket")},
    };

    if (answer->error == PACKET_ERROR_NONE)
        return NULL;
    if (answer->error == PACKET_ERROR_INVALID_ARGS)
        return g_error_new_literal(G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                                   _("the lock service does not accept the arguments"));
    if (answer->error == PACKET_ERROR_LIMITS_EXCEEDED)
        return error_new_from_limit(answer->limit);
    g_assert(answer->error < N_PACKET_ERRORS);
    return g_error_new_literal(WEB_LOCKS_ERROR, (int)errors[answer->error].code,
                               _(errors[answer->error].message));
}

GError *
error_new_from_loss(PacketReason reason)
{
    if (reason == PACKET_REASON_STOLEN)
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN,
                                   _("the lock was stolen"));
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST,
                               reason == PACKET_REASON_TERMINATED
                                   ? _("the lock was lost: the connection to the bus has ended")
                                   : _("the lock service has lost the lock"));
}

GError *
error_new_from_end(PacketReason reason)
{
    const char *message = _("the lock service has lost the request");

    if (reason == PACKET_REASON_TIMEOUT)
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT,
                                   _("the lock was not granted in time"));
    if (reason == PACKET_REASON_TERMINATED)
        message = _("the lock service has terminated the agent");
    else if (reason == PACKET_REASON_UNAVAILABLE)
        message = _("the lock could not be taken from other machines in time");
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE, message);
}

GError *
error_new_unreadable(void)
{
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                               _("the reply of the lock service is invalid"));
}
