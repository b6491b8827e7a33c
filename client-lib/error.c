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
    switch ((PacketError)answer->error) {
    case PACKET_ERROR_NONE:
        return NULL;
    case PACKET_ERROR_INVALID_ARGS:
        return g_error_new_literal(G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
                                   _("the lock service does not accept the arguments"));
    case PACKET_ERROR_NOT_SUPPORTED:
        return g_error_new_literal(
            WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED,
            _("the name is reserved, the options exclude each other, or this "
              "machine is not configured for the bucket"));
    case PACKET_ERROR_INVALID_STATE:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_INVALID_STATE,
                                   _("the lock service is shutting down"));
    case PACKET_ERROR_NOT_HELD:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_HELD,
                                   _("the lock is not held"));
    case PACKET_ERROR_SECURITY:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY,
                                   _("the caller is not permitted to use this bucket"));
    case PACKET_ERROR_LIMITS_EXCEEDED:
        return error_new_from_limit(answer->limit);
    case N_PACKET_ERRORS:
    default:
        g_assert_not_reached();
    }
}

GError *
error_new_from_loss(PacketReason reason)
{
    switch (reason) {
    case PACKET_REASON_STOLEN:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_STOLEN,
                                   _("the lock was stolen"));
    case PACKET_REASON_TERMINATED:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST,
                                   _("the lock was lost: the connection to the bus has ended"));
    case PACKET_REASON_TIMEOUT:
    case PACKET_REASON_LOST:
    case PACKET_REASON_UNAVAILABLE:
    default:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_LOST,
                                   _("the lock service has lost the lock"));
    }
}

GError *
error_new_from_end(PacketReason reason)
{
    switch (reason) {
    case PACKET_REASON_TIMEOUT:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_TIMEOUT,
                                   _("the lock was not granted in time"));
    case PACKET_REASON_TERMINATED:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                                   _("the lock service has terminated the agent"));
    case PACKET_REASON_UNAVAILABLE:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                                   _("the lock could not be taken from other machines in time"));
    case PACKET_REASON_STOLEN:
    case PACKET_REASON_LOST:
    default:
        return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                                   _("the lock service has lost the request"));
    }
}

GError *
error_new_unreadable(void)
{
    return g_error_new_literal(WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_UNAVAILABLE,
                               _("the reply of the lock service is invalid"));
}
