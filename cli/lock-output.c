/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/lock-output.h"

#include <glib/gi18n.h>
#include <unistd.h>

static const char *const headings_plain[] = {N_("BUCKET"), N_("NAME"),   N_("MODE"),
                                             N_("STATE"),  N_("CLIENT"), NULL};
static const char *const headings_detailed[] = {
    N_("BUCKET"),     N_("NAME"), N_("MODE"),    N_("STATE"), N_("AGE"),
    N_("CLIENT"),     N_("PID"),  N_("PROCESS"), N_("TOKEN"), N_("POSITION"),
    N_("BLOCKED-BY"), N_("WHY"),  NULL};

const char *
lock_output_mode(WebLocksMode mode)
{
    return mode == WEB_LOCKS_MODE_SHARED ? "shared" : "exclusive";
}

static const char *
state_of(WebLocksLockInfo *info)
{
    return web_locks_lock_info_get_held(info) ? "held" : "pending";
}

char *
lock_output_age(guint64 age_ms)
{
    guint64 seconds = age_ms / 1000;
    guint64 minutes = seconds / 60;
    guint64 hours = minutes / 60;

    if (minutes == 0)
        return g_strdup_printf("%" G_GUINT64_FORMAT "s", seconds);
    if (hours == 0)
        return g_strdup_printf("%" G_GUINT64_FORMAT "m%02us", minutes, (guint)(seconds % 60));
    if (hours < 24)
        return g_strdup_printf("%" G_GUINT64_FORMAT "h%02um", hours, (guint)(minutes % 60));
    return g_strdup_printf("%" G_GUINT64_FORMAT "d%02uh", hours / 24, (guint)(hours % 24));
}

static const char *
or_empty(const char *text)
{
    return text != NULL ? text : "";
}

void
lock_output_members(Json *json, WebLocksLockInfo *info, gboolean detailed)
{
    const char *const *blocked_by;

    json_string(json, "name", web_locks_lock_info_get_name(info));
    json_string(json, "mode", lock_output_mode(web_locks_lock_info_get_mode(info)));
    json_string(json, "clientId", web_locks_lock_info_get_client_id(info));
    if (!detailed)
        return;
    json_string(json, "state", state_of(info));
    json_number(json, "id", web_locks_lock_info_get_id(info));
    json_number(json, "token", web_locks_lock_info_get_token(info));
    json_number(json, "age", web_locks_lock_info_get_age(info));
    json_number(json, "since", (guint64)web_locks_lock_info_get_since(info) / 1000);
    json_number(json, "pid", web_locks_lock_info_get_pid(info));
    json_string(json, "process", or_empty(web_locks_lock_info_get_process(info)));
    json_string(json, "application", or_empty(web_locks_lock_info_get_application(info)));
    json_number(json, "uid", web_locks_lock_info_get_uid(info));
    json_string(json, "why", or_empty(web_locks_lock_info_get_why(info)));
    json_number(json, "position", web_locks_lock_info_get_position(info));
    json_open(json, "blockedBy", '[');
    blocked_by = web_locks_lock_info_get_blocked_by(info);
    for (guint i = 0; blocked_by != NULL && blocked_by[i] != NULL; i++)
        json_string(json, NULL, blocked_by[i]);
    json_close(json, ']');
}

static void
add_list(Json *json, const char *key, GListModel *list, gboolean detailed)
{
    guint n = g_list_model_get_n_items(list);

    json_open(json, key, '[');
    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);

        json_open(json, NULL, '{');
        lock_output_members(json, info, detailed);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void
lock_output_snapshot(Json *json, WebLocksSnapshot *snapshot, gboolean detailed)
{
    add_list(json, "held", web_locks_snapshot_get_held(snapshot), detailed);
    add_list(json, "pending", web_locks_snapshot_get_pending(snapshot), detailed);
}

const char *const *
lock_output_headings(gboolean buckets, gboolean detailed)
{
    return (detailed ? headings_detailed : headings_plain) + (buckets ? 0 : 1);
}

void
lock_output_row(Table *table, const char *bucket, WebLocksLockInfo *info, gboolean detailed)
{
    const char *const *blocked_by = web_locks_lock_info_get_blocked_by(info);
    g_autofree char *age = NULL;
    g_autofree char *blockers = NULL;

    if (bucket != NULL)
        table_add(table, bucket);
    table_add(table, web_locks_lock_info_get_name(info));
    table_add(table, lock_output_mode(web_locks_lock_info_get_mode(info)));
    table_add(table, state_of(info));
    if (!detailed) {
        table_add(table, web_locks_lock_info_get_client_id(info));
        return;
    }
    age = lock_output_age(web_locks_lock_info_get_age(info));
    blockers = blocked_by != NULL ? g_strjoinv(",", (char **)blocked_by) : g_strdup("");
    table_add(table, age);
    table_add(table, web_locks_lock_info_get_client_id(info));
    table_add_number(table, web_locks_lock_info_get_pid(info));
    table_add(table, or_empty(web_locks_lock_info_get_process(info)));
    table_add_number(table, web_locks_lock_info_get_token(info));
    table_add_number(table, web_locks_lock_info_get_position(info));
    table_add(table, blockers);
    table_add(table, or_empty(web_locks_lock_info_get_why(info)));
}

char *
lock_output_bucket(WebLocksManager *manager)
{
    const char *application = web_locks_manager_get_application(manager);
    g_autofree char *user = NULL;

    if (web_locks_manager_get_uid(manager) != getuid())
        user = g_strdup_printf("%u:", web_locks_manager_get_uid(manager));
    return g_strconcat(user != NULL ? user : "", or_empty(application),
                       application != NULL ? ":" : "", web_locks_manager_get_bucket(manager), NULL);
}

void
lock_output_bucket_members(Json *json, WebLocksManager *manager)
{
    json_number(json, "uid", web_locks_manager_get_uid(manager));
    json_string(json, "application", or_empty(web_locks_manager_get_application(manager)));
    json_string(json, "bucket", web_locks_manager_get_bucket(manager));
}

char *
lock_output_who(WebLocksLockInfo *info)
{
    const char *process = or_empty(web_locks_lock_info_get_process(info));
    const char *why = or_empty(web_locks_lock_info_get_why(info));
    g_autofree char *age = lock_output_age(web_locks_lock_info_get_age(info));

    if (*process == '\0')
        process = _("a process");
    if (*why == '\0')
        return g_strdup_printf(_("%s (pid %u, %s) for %s"), process,
                               web_locks_lock_info_get_pid(info),
                               web_locks_lock_info_get_client_id(info), age);
    return g_strdup_printf(_("%s (pid %u, %s) for %s: %s"), process,
                           web_locks_lock_info_get_pid(info),
                           web_locks_lock_info_get_client_id(info), age, why);
}
