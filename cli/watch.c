/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks watch`: shows held locks and pending requests as they change.
 *
 * It prints a line for each lock or request that is added or removed, or, with --table, a table
 * that is updated. For lines, signals have their default effect, since there is nothing to clean
 * up. */

#include <glib-unix.h>
#include <glib/gi18n.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/lock-output.h"
#include "cli/screen.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "client-lib/evidence/evidence.h"

typedef struct {
    Target target;
    gboolean json;
    gboolean table;
    const char *name; /* only this lock name; NULL: all names */
    GMainLoop *loop;
    WebLocksAgent *agent;
    WebLocksMonitor *monitor;
    /* Arrays of WebLocksLockInfo: the monitor's lists as of the last items-changed signal. */
    GPtrArray *held;
    GPtrArray *pending;
    Screen *screen; /* NULL: lines */
    int status;
} Watch;

static void
finish(Watch *watch, int status)
{
    watch->status = status;
    g_main_loop_quit(watch->loop);
}

/* Flushes the output. If the reader has closed the pipe, the program ends. */
static void
flush(Watch *watch)
{
    Status status = STATUS_OK;

    if (!flush_output(&status))
        finish(watch, (int)status);
}

/* Returns an owned text, or NULL if the bucket is not shown. */
static char *
get_bucket(const Watch *watch, WebLocksLockInfo *info)
{
    return watch->target.all ? lock_output_bucket(web_locks_lock_info_get_manager(info)) : NULL;
}

static gboolean
is_wanted(const Watch *watch, WebLocksLockInfo *info)
{
    return watch->name == NULL || g_str_equal(web_locks_lock_info_get_name(info), watch->name);
}

/* ---- the table */

/* Returns how many rows were added. The evidence is updated of what is shown. */
static guint
add_rows(const Watch *watch, Table *table, GListModel *list, GHashTable *uses)
{
    guint n = g_list_model_get_n_items(list), n_shown = terminal_get_size(STDOUT_FILENO).rows;
    guint n_rows = 0;

    for (guint i = 0; i < n; i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(list, i);
        g_autofree char *bucket = get_bucket(watch, info);

        if (!is_wanted(watch, info))
            continue;
        if (n_rows++ < n_shown)
            evidence_update(watch->monitor, info);
        lock_output_row(table, bucket, info, uses);
    }
    return n_rows;
}

static Table *
get_table(gpointer data, char **out_title)
{
    const Watch *watch = data;
    GListModel *held = web_locks_monitor_get_held(watch->monitor);
    GListModel *pending = web_locks_monitor_get_pending(watch->monitor);
    g_autoptr(GHashTable) uses = lock_output_uses(held, pending);
    Table *table = lock_output_table(watch->target.all, TRUE);
    guint n_held = add_rows(watch, table, held, uses);
    guint n_pending = add_rows(watch, table, pending, uses);

    *out_title = g_strdup_printf(_("%s: %u held, %u pending"),
                                 watch->target.all ? _("all buckets") : watch->target.bucket,
                                 n_held, n_pending);
    return table;
}

static void
on_quit(int signal, gpointer data)
{
    finish(data, signal == 0 ? STATUS_OK : STATUS_SIGNALLED + signal);
}

/* ---- lines */

static void
print_change(Watch *watch, const char *change, const char *state, WebLocksLockInfo *info)
{
    static const char *const headings[] = {"CHANGE", "STATE", "NAME", "MODE", "CLIENT",
                                           "WHO",    "PID",   "WHY",  NULL};
    static const char *const headings_all[] = {"CHANGE", "STATE", "BUCKET", "NAME", "MODE",
                                               "CLIENT", "WHO",   "PID",    "WHY",  NULL};
    g_autofree char *bucket = get_bucket(watch, info);
    g_autoptr(Table) table = NULL;

    if (!is_wanted(watch, info))
        return;
    if (watch->json) {
        Json json;

        json_init(&json);
        json_open(&json, NULL, '{');
        json_string(&json, "change", change);
        json_string(&json, "state", state);
        if (watch->target.all)
            lock_output_bucket_members(&json, web_locks_lock_info_get_manager(info));
        lock_output_identity(&json, info);
        json_string(&json, "who", web_locks_lock_info_get_who(info));
        json_close(&json, '}');
        json_print(&json);
        return;
    }
    table = table_new(watch->target.all ? headings_all : headings, NULL, FALSE);
    table_add(table, change);
    table_add(table, state);
    if (bucket != NULL)
        table_add(table, bucket);
    table_add(table, web_locks_lock_info_get_name(info));
    table_add(table, lock_output_mode(web_locks_lock_info_get_mode(info)));
    table_add(table, web_locks_lock_info_get_client_id(info));
    table_add_optional(table, web_locks_lock_info_get_who(info));
    table_add_number(table, web_locks_lock_info_get_who_pid(info));
    table_add(table, web_locks_lock_info_get_why(info));
    table_print(table);
}

/* A held lock was downgraded. */
static void
on_mode_changed(WebLocksLockInfo *info, GParamSpec *pspec, gpointer data)
{
    print_change(data, "downgraded", "held", info);
    flush(data);
}

static void
print_changes(Watch *watch,
              GListModel *list,
              GPtrArray *known,
              guint position,
              guint n_removed,
              guint n_added)
{
    const char *state = known == watch->held ? "held" : "pending";

    for (guint i = 0; i < n_removed; i++) {
        g_signal_handlers_disconnect_by_data(known->pdata[position + i], watch);
        print_change(watch, "removed", state, known->pdata[position + i]);
    }
    if (n_removed > 0)
        g_ptr_array_remove_range(known, position, n_removed);
    for (guint i = 0; i < n_added; i++) {
        WebLocksLockInfo *info = g_list_model_get_item(list, position + i);

        g_ptr_array_insert(known, (int)(position + i), info);
        if (known == watch->held)
            g_signal_connect(info, "notify::mode", G_CALLBACK(on_mode_changed), watch);
        print_change(watch, "added", state, info);
    }
    flush(watch);
}

static void
on_items_changed(GListModel *list, guint position, guint removed, guint added, gpointer data)
{
    Watch *watch = data;
    GPtrArray *known =
        list == web_locks_monitor_get_held(watch->monitor) ? watch->held : watch->pending;

    print_changes(watch, list, known, position, removed, added);
}

static void
on_changed(Watch *watch)
{
    if (watch->screen != NULL)
        screen_changed(watch->screen);
}

/* ---- the end */

static gboolean
on_output_closed(int fd, GIOCondition condition, gpointer data)
{
    finish(data, STATUS_OK);
    return G_SOURCE_REMOVE;
}

static void
on_connected_changed(WebLocksAgent *agent, GParamSpec *pspec, gpointer data)
{
    if (web_locks_agent_get_connected(agent))
        return;
    g_clear_pointer(&((Watch *)data)->screen, screen_close);
    complain(_("the connection to the bus has ended"));
    finish(data, STATUS_UNAVAILABLE);
}

static void
start(Watch *watch)
{
    GListModel *held = web_locks_monitor_get_held(watch->monitor);
    GListModel *pending = web_locks_monitor_get_pending(watch->monitor);

    g_signal_connect(watch->agent, "notify::connected", G_CALLBACK(on_connected_changed), watch);
    on_connected_changed(watch->agent, NULL, watch);
    /* poll() reports POLLERR when the reader of a pipe has closed it. */
    g_unix_fd_add(STDOUT_FILENO, G_IO_ERR | G_IO_HUP, on_output_closed, watch);
    if (watch->table) {
        g_signal_connect_swapped(watch->monitor, "changed", G_CALLBACK(on_changed), watch);
        watch->screen = screen_open(get_table, on_quit, watch);
        return;
    }
    g_signal_connect(held, "items-changed", G_CALLBACK(on_items_changed), watch);
    g_signal_connect(pending, "items-changed", G_CALLBACK(on_items_changed), watch);
    print_changes(watch, held, watch->held, 0, 0, g_list_model_get_n_items(held));
    print_changes(watch, pending, watch->pending, 0, 0, g_list_model_get_n_items(pending));
}

/* Returns an owned monitor, or NULL and an error. */
static WebLocksMonitor *
get_monitor(const Watch *watch, GError **error)
{
    g_autoptr(WebLocksManager) manager = NULL;

    if (watch->target.all)
        return web_locks_monitor_new_all_sync(watch->agent, NULL, error);
    manager = web_locks_manager_new(watch->agent, watch->target.bucket);
    return web_locks_monitor_new_sync(manager, NULL, error);
}

static int
watch_buckets(Watch *watch)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(WebLocksAgent) agent = target_connect(&watch->target, &error);

    watch->agent = agent;
    if (agent != NULL)
        watch->monitor = get_monitor(watch, &error);
    if (watch->monitor == NULL)
        return target_complain(&watch->target, error);
    watch->loop = g_main_loop_new(NULL, FALSE);
    watch->held = g_ptr_array_new_with_free_func(g_object_unref);
    watch->pending = g_ptr_array_new_with_free_func(g_object_unref);
    watch->status = -1;
    start(watch);
    if (watch->status < 0)
        g_main_loop_run(watch->loop);
    g_clear_pointer(&watch->screen, screen_close);
    g_main_loop_unref(watch->loop);
    g_ptr_array_unref(watch->held);
    g_ptr_array_unref(watch->pending);
    g_object_unref(watch->monitor);
    return watch->status;
}

int
command_watch(const Command *command, int argc, char **argv)
{
    Watch watch = {.target = TARGET_DEFAULT};
    const Option options[] = {
        TARGET_ALL_OPTION(&watch.target),
        {"json", 'j', NULL, N_("Print JSON, an object a line"), option_set, &watch.json},
        {"table", 't', NULL, N_("Show a table that is updated, until 'q' is pressed"), option_set,
         &watch.table},
        TARGET_OPTIONS(&watch.target),
        {NULL}};
    int status;

    if (!options_parse(command, options, &argc, &argv, &status) ||
        !options_get_optional_name(command, argc, argv, &watch.name, &status) ||
        !target_check_all(&watch.target, command, &status))
        return status;
    if (watch.table && (watch.json || !isatty(STDOUT_FILENO)))
        return options_complain(command, _("--table needs a terminal, and excludes --json"));
    return watch_buckets(&watch);
}
