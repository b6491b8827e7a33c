/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/target.h"

#include <glib/gi18n.h>

Option
target_bucket_option(Target *target)
{
    return (Option){"bucket",    'b',
                    "BUCKET",    N_("The storage bucket of the name (default: default)"),
                    option_text, &target->bucket};
}

Option
target_system_option(Target *target)
{
    return (Option){"system",   0,
                    NULL,       N_("Use the system bus, not the session bus"),
                    option_set, &target->system};
}

GBusType
target_bus(const Target *target)
{
    return target->system ? G_BUS_TYPE_SYSTEM : G_BUS_TYPE_SESSION;
}

WebLocksAgent *
target_connect(const Target *target, GError **error)
{
    return web_locks_agent_new_sync(target_bus(target), NULL, error);
}

WebLocksManager *
target_get_manager(const Target *target, GError **error)
{
    g_autoptr(WebLocksAgent) agent = target_connect(target, error);

    return agent != NULL ? web_locks_agent_get_manager(agent, target->bucket, error) : NULL;
}
