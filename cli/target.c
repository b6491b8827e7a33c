/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/target.h"

#include <unistd.h>

#include "cli/language.h"
#include "cli/status.h"
#include "common/bus-names.h"

const char target_default_bucket[] = "default";

gboolean
target_take_group(const char *group, gpointer into, GError **error)
{
    g_autofree char *bucket = web_locks_bucket_for_group(group, error);

    if (bucket != NULL)
        *(const char **)into = g_intern_string(bucket);
    return bucket != NULL;
}

gboolean
target_check_all(const Target *target, const Command *command, int *out_status)
{
    if (!target->all || target->bucket == target_default_bucket)
        return TRUE;
    *out_status = options_complain(command, _("--all cannot be combined with --bucket or --group"));
    return FALSE;
}

gboolean
target_is_clustered(const Target *target)
{
    return g_str_has_prefix(target->bucket, BUS_CLUSTER_PREFIX);
}

GBusType
target_bus(const Target *target)
{
    return target->system ? G_BUS_TYPE_SYSTEM : G_BUS_TYPE_SESSION;
}

/* Returns an owned hint, if the environment has no address of a session bus; otherwise NULL. */
static char *
explain_environment(void)
{
    g_autofree char *directory = g_strdup_printf("/run/user/%u", getuid());
    g_autofree char *bus = g_build_filename(directory, "bus", NULL);

    if (g_getenv("DBUS_SESSION_BUS_ADDRESS") != NULL || g_getenv("XDG_RUNTIME_DIR") != NULL)
        return NULL;
    if (access(bus, F_OK) == 0)
        return g_strdup_printf(_("no session bus: XDG_RUNTIME_DIR is not set, as under cron;"
                                 " set XDG_RUNTIME_DIR=%s, or use --system, whose locks are"
                                 " separate"),
                               directory);
    return g_strdup_printf(
        _("no session bus: XDG_RUNTIME_DIR is not set, as under cron, and there"
          " is no %s, since the user is not logged in;"
          " use 'loginctl enable-linger', or --system, whose locks are separate"),
        bus);
}

void
target_explain(const Target *target, GError *error)
{
    g_autofree char *before = error->message;
    const char *address = g_getenv("DBUS_SESSION_BUS_ADDRESS");

    error->message = target->system ? NULL : explain_environment();
    if (error->message != NULL)
        return;
    if (target->system)
        error->message = g_strdup_printf(_("no system bus: %s; start dbus.service"), before);
    else if (address != NULL)
        error->message = g_strdup_printf(_("no session bus: %s; check DBUS_SESSION_BUS_ADDRESS,"
                                           " which is '%s', or use --system, whose locks are"
                                           " separate"),
                                         before, address);
    else
        error->message = g_strdup_printf(_("no session bus: %s; check XDG_RUNTIME_DIR, which is"
                                           " '%s', or use --system, whose locks are separate"),
                                         before, g_getenv("XDG_RUNTIME_DIR"));
}

WebLocksAgent *
target_connect(const Target *target, GError **error)
{
    g_autoptr(GError) failed = NULL;
    g_autoptr(WebLocksAgent) agent = web_locks_agent_new(target_bus(target), NULL);

    if (g_initable_init(G_INITABLE(agent), NULL, &failed))
        return g_steal_pointer(&agent);
    target_explain(target, failed);
    g_propagate_error(error, g_steal_pointer(&failed));
    return NULL;
}

WebLocksManager *
target_get_manager(const Target *target, GError **error)
{
    g_autoptr(WebLocksAgent) agent = target_connect(target, error);

    return agent != NULL ? web_locks_manager_new(agent, target->bucket) : NULL;
}

/* ---- errors */

static Status
status_of_error(const GError *error)
{
    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT) ||
        g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED))
        return STATUS_USAGE;
    if (g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_SECURITY))
        return STATUS_FORBIDDEN;
    if (error->domain == WEB_LOCKS_ERROR)
        return STATUS_UNAVAILABLE;
    return STATUS_SOFTWARE;
}

Status
complain_of(const GError *error)
{
    complain("%s", error->message);
    return status_of_error(error);
}

Status
target_complain(const Target *target, const GError *error)
{
    const gboolean is_clustered = target_is_clustered(target);

    if (!g_error_matches(error, WEB_LOCKS_ERROR, WEB_LOCKS_ERROR_NOT_SUPPORTED) ||
        !(is_clustered || (!target->system && g_str_has_prefix(target->bucket, BUS_GROUP_PREFIX))))
        return complain_of(error);
    if (target->system)
        complain(_("this host is not configured for the bucket '%s'; see weblocks-cluster.conf(5)"),
                 target->bucket);
    else
        complain(_("the bucket '%s' is only available on the system bus: use --system"),
                 target->bucket);
    return STATUS_USAGE;
}
