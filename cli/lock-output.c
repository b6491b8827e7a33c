/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/lock-output.h"

#include <glib/gi18n.h>
#include <string.h>
#include <unistd.h>

#include "client-lib/evidence/evidence.h"
#include "common/bus-names.h"

static const char *const headings[] = {N_("BUCKET"),   N_("NAME"), N_("MODE"), N_("STATE"),
                                       N_("AGE"),      N_("WHO"),  N_("PID"),  N_("WAITS-BEHIND"),
                                       N_("EVIDENCE"), N_("WHY"),  NULL};

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

/* Returns an owned string such as 12s, 3m05s, 2h03m or 5d04h. */
static char *
format_age(guint64 age_ms)
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

/* In milliseconds, now. */
static guint64
get_age(WebLocksLockInfo *info)
{
    gint64 age_us = g_get_real_time() - web_locks_lock_info_get_since(info);

    return (guint64)MAX(age_us, 0) / 1000;
}

static const char *
or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* Another host that holds or waits for the lock, for which nothing else is known; otherwise "". */
static const char *
host_of(WebLocksLockInfo *info)
{
    const char *client_id = web_locks_lock_info_get_client_id(info);

    if (!g_str_has_prefix(client_id, BUS_HOST_PREFIX))
        return "";
    return client_id + strlen(BUS_HOST_PREFIX);
}

static void
add_evidence(Json *json, WebLocksLockInfo *info)
{
    static const struct {
        Evidence flag;
        const char *word;
    } words[] = {
        {EVIDENCE_STOPPED, "stopped"},
        {EVIDENCE_NOT_SCHEDULED, "not-scheduled"},
        {EVIDENCE_HELD_LONG, "held-long"},
        {EVIDENCE_CYCLE, "cycle"},
    };

    json_open(json, "evidence", '[');
    for (guint i = 0; i < G_N_ELEMENTS(words); i++)
        if ((evidence_get(info) & words[i].flag) != 0)
            json_string(json, NULL, words[i].word);
    json_close(json, ']');
    json_string(json, "evidenceText", evidence_get_text(info));
}

void
lock_output_identity(Json *json, WebLocksLockInfo *info)
{
    json_string(json, "name", web_locks_lock_info_get_name(info));
    json_string(json, "mode", lock_output_mode(web_locks_lock_info_get_mode(info)));
    json_string(json, "clientId", web_locks_lock_info_get_client_id(info));
}

static void
add_members(Json *json, WebLocksLockInfo *info)
{
    lock_output_identity(json, info);
    json_string(json, "state", state_of(info));
    json_number(json, "id", web_locks_lock_info_get_id(info));
    json_number(json, "token", web_locks_lock_info_get_token(info));
    json_number(json, "age", get_age(info));
    json_number(json, "since", (guint64)web_locks_lock_info_get_since(info) / 1000);
    json_number(json, "pid", web_locks_lock_info_get_pid(info));
    json_string(json, "process", web_locks_lock_info_get_process(info));
    json_string(json, "who", web_locks_lock_info_get_who(info));
    json_number(json, "whoPid", web_locks_lock_info_get_who_pid(info));
    json_string(json, "application", web_locks_lock_info_get_application(info));
    json_number(json, "uid", web_locks_lock_info_get_uid(info));
    json_string(json, "host", host_of(info));
    json_string(json, "why", web_locks_lock_info_get_why(info));
    json_number(json, "slots", web_locks_lock_info_get_slots(info));
    json_number(json, "position", web_locks_lock_info_get_position(info));
    json_strings(json, "blockedBy", web_locks_lock_info_get_blocked_by(info));
    add_evidence(json, info);
}

static void
add_list(Json *json, const char *key, GListModel *list)
{
    guint n = g_list_model_get_n_items(list);

    json_open(json, key, '[');
    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);

        json_open(json, NULL, '{');
        add_members(json, info);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void
lock_output_snapshot(Json *json, WebLocksSnapshot *snapshot)
{
    add_list(json, "held", web_locks_snapshot_get_held(snapshot));
    add_list(json, "pending", web_locks_snapshot_get_pending(snapshot));
}

/* With the number of slots of a counting lock. Returns an owned text. */
static char *
describe_mode(WebLocksLockInfo *info)
{
    const char *mode = lock_output_mode(web_locks_lock_info_get_mode(info));
    const guint slots = web_locks_lock_info_get_slots(info);

    return slots > 1 ? g_strdup_printf("%s/%u", mode, slots) : g_strdup(mode);
}

Table *
lock_output_table(gboolean buckets, gboolean terminal)
{
    return table_new(headings + (buckets ? 0 : 1), "EVIDENCE", terminal);
}

/* The key of what a client holds or requests of the name of `info`. */
static char *
get_key(const char *client_id, WebLocksLockInfo *info)
{
    return g_strdup_printf("%p %s %s", web_locks_lock_info_get_manager(info), client_id,
                           web_locks_lock_info_get_name(info));
}

static void
add_uses(GHashTable *uses, GListModel *list)
{
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);
        g_autofree char *key = get_key(web_locks_lock_info_get_client_id(info), info);

        if (*host_of(info) == '\0' && !g_hash_table_contains(uses, key))
            g_hash_table_insert(uses, g_steal_pointer(&key), g_steal_pointer(&info));
    }
}

GHashTable *
lock_output_uses(GListModel *held, GListModel *pending)
{
    GHashTable *uses = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);

    add_uses(uses, held);
    add_uses(uses, pending);
    return uses;
}

/* Appends what is in the way. Another window of the same process is told apart by its purpose. */
static void
append_blocker(GString *text, WebLocksLockInfo *blocker, WebLocksLockInfo *info)
{
    const char *why = web_locks_lock_info_get_why(blocker);
    const guint pid = web_locks_lock_info_get_who_pid(blocker);

    g_string_append_printf(text, "%s(%u)", web_locks_lock_info_get_who(blocker), pid);
    if (*why != '\0' && pid == web_locks_lock_info_get_who_pid(info))
        g_string_append_printf(text, ":%s", why);
}

/* Returns an owned text. */
static char *
list_blockers(WebLocksLockInfo *info, GHashTable *uses)
{
    const char *const *ids = web_locks_lock_info_get_blocked_by(info);
    GString *text = g_string_new(NULL);

    for (; ids != NULL && *ids != NULL; ids++) {
        g_autofree char *key = get_key(*ids, info);
        WebLocksLockInfo *blocker = g_hash_table_lookup(uses, key);

        if (text->len > 0)
            g_string_append_c(text, ',');
        if (blocker != NULL)
            append_blocker(text, blocker, info);
        else
            g_string_append(text, *ids);
    }
    return g_string_free(text, FALSE);
}

void
lock_output_row(Table *table, const char *bucket, WebLocksLockInfo *info, GHashTable *uses)
{
    g_autofree char *age = format_age(get_age(info));
    g_autofree char *blockers = list_blockers(info, uses);
    g_autofree char *mode = describe_mode(info);

    if (bucket != NULL)
        table_add(table, bucket);
    table_add(table, web_locks_lock_info_get_name(info));
    table_add(table, mode);
    table_add(table, state_of(info));
    table_add(table, age);
    table_add_optional(table, web_locks_lock_info_get_who(info));
    if (*host_of(info) == '\0')
        table_add_number(table, web_locks_lock_info_get_who_pid(info));
    else
        table_add_optional(table, "");
    table_add_optional(table, blockers);
    table_add_optional(table, evidence_get_text(info));
    table_add_optional(table, web_locks_lock_info_get_why(info));
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
lock_output_holder(WebLocksLockInfo *info, gboolean with_client)
{
    const char *who = web_locks_lock_info_get_who(info);
    const char *why = web_locks_lock_info_get_why(info);
    const char *client = with_client ? web_locks_lock_info_get_client_id(info) : "";
    g_autofree char *age = evidence_format_time((gint64)get_age(info) * 1000);

    if (*host_of(info) != '\0')
        return g_strdup_printf(_("%s for %s"), who, age);
    /* Translators: for example "make (pid 123, :1.5) for 3 min: WHY". */
    return g_strdup_printf(_("%s (pid %u%s%s) for %s%s%s"), *who != '\0' ? who : _("a process"),
                           web_locks_lock_info_get_who_pid(info), with_client ? ", " : "", client,
                           age, *why != '\0' ? ": " : "", why);
}
