/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "describe.h"

#include <glib/gi18n.h>
#include <unistd.h>

#include "client-lib/evidence/evidence.h"
#include "shell-word.h"

char *
viewer_isolate(const char *name)
{
    GString *text;

    if (g_str_is_ascii(name))
        return g_strdup(name);
    text = g_string_new(NULL);
    g_string_append_unichar(text, 0x2068); /* FIRST STRONG ISOLATE */
    for (; *name != '\0'; name = g_utf8_next_char(name)) {
        const gunichar character = g_utf8_get_char(name);

        if ((character < 0x202a || character > 0x202e) &&
            (character < 0x2066 || character > 0x2069))
            g_string_append_unichar(text, character);
    }
    g_string_append_unichar(text, 0x2069); /* POP DIRECTIONAL ISOLATE */
    return g_string_free(text, FALSE);
}

char *
viewer_describe_state(WebLocksLockInfo *info)
{
    const gboolean is_shared = web_locks_lock_info_get_mode(info) == WEB_LOCKS_MODE_SHARED;
    const gboolean is_held = web_locks_lock_info_get_held(info);
    const guint slots = web_locks_lock_info_get_slots(info);

    if (slots > 1)
        return g_strdup_printf(is_held ? _("Held, %u slots") : _("Waiting, %u slots"), slots);
    if (is_held)
        return g_strdup(is_shared ? _("Held, shared") : _("Held"));
    return g_strdup(is_shared ? _("Waiting, shared") : _("Waiting"));
}

char *
viewer_describe_mode(WebLocksLockInfo *info)
{
    const guint slots = web_locks_lock_info_get_slots(info);

    if (slots > 1)
        /* Translators: how many clients can hold the lock at the same time. */
        return g_strdup_printf(_("%u slots"), slots);
    return g_strdup(web_locks_lock_info_get_mode(info) == WEB_LOCKS_MODE_SHARED ? _("Shared") : "");
}

char *
viewer_describe_age(WebLocksLockInfo *info)
{
    const gint64 us = g_get_real_time() - web_locks_lock_info_get_since(info);
    const guint64 s = us > 0 ? (guint64)us / G_USEC_PER_SEC : 0;

    if (web_locks_lock_info_get_since(info) == 0)
        return g_strdup("");
    if (s < 3600)
        return evidence_format_time((gint64)s * G_USEC_PER_SEC);
    /* Translators: ages, as short as can be: hours, days. */
    if (s < 86400)
        return g_strdup_printf(_("%u h %u min"), (guint)(s / 3600), (guint)(s / 60 % 60));
    return g_strdup_printf(_("%u d %u h"), (guint)(s / 3600 / 24), (guint)(s / 3600 % 24));
}

/* That of a command is not the client's. */
const char *
viewer_get_process(WebLocksLockInfo *info)
{
    const char *process = web_locks_lock_info_get_process(info);

    if (*process == '\0' ||
        web_locks_lock_info_get_pid(info) != web_locks_lock_info_get_who_pid(info))
        return web_locks_lock_info_get_who(info);
    return process;
}

char *
viewer_describe_process(WebLocksLockInfo *info)
{
    g_autofree char *process = viewer_isolate(viewer_get_process(info));

    /* Translators: the name of a process, and its process id. */
    return g_strdup_printf(_("%s (process %u)"), process, web_locks_lock_info_get_who_pid(info));
}

char *
viewer_build_break_command(WebLocksLockInfo *info)
{
    WebLocksManager *manager = web_locks_lock_info_get_manager(info);
    const char *application = web_locks_manager_get_application(manager);
    const guint uid = web_locks_manager_get_uid(manager);
    g_autofree char *bucket = viewer_quote_for_shell(web_locks_manager_get_bucket(manager));
    g_autofree char *name = viewer_quote_for_shell(web_locks_lock_info_get_name(info));
    GString *command = g_string_new("weblocks break");
    GBusType bus_type;

    g_object_get(web_locks_manager_get_agent(manager), "bus-type", &bus_type, NULL);
    if (bus_type == G_BUS_TYPE_SYSTEM)
        g_string_append(command, " --system");
    if (uid != getuid())
        g_string_append_printf(command, " --uid %u", uid);
    if (application != NULL && *application != '\0')
        g_string_append_printf(command, " --app %s", application);
    g_string_append_printf(command, " --bucket %s --client %s -- %s", bucket,
                           web_locks_lock_info_get_client_id(info), name);
    return g_string_free(command, FALSE);
}
