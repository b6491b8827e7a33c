/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* `weblocks list`: prints the held locks and pending requests of one bucket or of all. */

#include "cli/commands.h"

#include <glib/gi18n.h>
#include <unistd.h>

#include "cli/lock-output.h"
#include "cli/target.h"
#include "client-lib/evidence/evidence.h"

/* The strings are those of the command line. */
typedef struct {
    Target target;
    gboolean json;
    const char *name; /* only this lock name; NULL: all names */
} Listing;

/* Returns owned managers, or NULL and an error. */
static GPtrArray *
get_managers(const Listing *listing, GError **error)
{
    g_autoptr(WebLocksAgent) agent = target_connect(&listing->target, error);
    GPtrArray *managers;

    if (agent == NULL)
        return NULL;
    if (listing->target.all)
        return web_locks_agent_list_observable_sync(agent, NULL, error);
    managers = g_ptr_array_new_with_free_func(g_object_unref);
    g_ptr_array_add(managers, web_locks_manager_new(agent, listing->target.bucket));
    return managers;
}

/* Returns an owned snapshot of each bucket, or NULL and an error. */
static GPtrArray *
take_snapshots(const Listing *listing, GPtrArray *managers, GError **error)
{
    g_autoptr(GPtrArray) snapshots = g_ptr_array_new_with_free_func(g_object_unref);

    for (guint i = 0; i < managers->len; i++) {
        WebLocksSnapshot *snapshot =
            web_locks_manager_inspect_sync(managers->pdata[i], listing->name, NULL, error);

        if (snapshot == NULL)
            return NULL;
        g_ptr_array_add(snapshots, snapshot);
    }
    return g_steal_pointer(&snapshots);
}

static void
append_to_store(GListStore *store, GListModel *list)
{
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(GObject) info = g_list_model_get_item(list, i);

        g_list_store_append(store, info);
    }
}

/* Those of all buckets together: clients may wait for each other in several of them. */
static void
update_evidence(GPtrArray *snapshots)
{
    g_autoptr(GListStore) held = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    g_autoptr(GListStore) pending = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);

    for (guint i = 0; i < snapshots->len; i++) {
        append_to_store(held, web_locks_snapshot_get_held(snapshots->pdata[i]));
        append_to_store(pending, web_locks_snapshot_get_pending(snapshots->pdata[i]));
    }
    evidence_update_lists(G_LIST_MODEL(held), G_LIST_MODEL(pending));
}

/* With --all, the output is an array of buckets, since those of several principals may have the
 * same name. */
static void
print_json(const Listing *listing, GPtrArray *managers, GPtrArray *snapshots)
{
    Json json;

    json_init(&json);
    json_open(&json, NULL, '{');
    if (listing->target.all)
        json_open(&json, "buckets", '[');
    for (guint i = 0; i < managers->len; i++) {
        if (listing->target.all) {
            json_open(&json, NULL, '{');
            lock_output_bucket_members(&json, managers->pdata[i]);
        }
        lock_output_snapshot(&json, snapshots->pdata[i]);
        if (listing->target.all)
            json_close(&json, '}');
    }
    if (listing->target.all)
        json_close(&json, ']');
    json_close(&json, '}');
    json_print(&json);
}

static int
compare_names(gconstpointer a, gconstpointer b, gpointer unused)
{
    return strcmp(web_locks_lock_info_get_name((WebLocksLockInfo *)a),
                  web_locks_lock_info_get_name((WebLocksLockInfo *)b));
}

/* Adds rows sorted by name; within a name, held locks first, then pending requests in queue order.
 * This needs a stable sort, which g_list_store_sort() is. */
static void
add_rows(const Listing *listing, Table *table, WebLocksManager *manager, WebLocksSnapshot *snapshot)
{
    g_autoptr(GListStore) rows = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    g_autofree char *bucket = listing->target.all ? lock_output_bucket(manager) : NULL;
    GListModel *held = web_locks_snapshot_get_held(snapshot);
    GListModel *pending = web_locks_snapshot_get_pending(snapshot);
    g_autoptr(GHashTable) uses = lock_output_uses(held, pending);

    append_to_store(rows, held);
    append_to_store(rows, pending);
    g_list_store_sort(rows, compare_names, NULL);
    for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(rows)); i++) {
        g_autoptr(WebLocksLockInfo) info = g_list_model_get_item(G_LIST_MODEL(rows), i);

        lock_output_row(table, bucket, info, uses);
    }
}

/* For a script that asks for one name. */
static Status
get_status(const Listing *listing, GPtrArray *snapshots)
{
    guint n_held = 0;

    for (guint i = 0; i < snapshots->len; i++)
        n_held += g_list_model_get_n_items(web_locks_snapshot_get_held(snapshots->pdata[i]));
    return listing->name == NULL || n_held > 0 ? STATUS_OK : STATUS_CONFLICT;
}

static int
print_listing(const Listing *listing)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) managers = get_managers(listing, &error), snapshots = NULL;
    g_autoptr(Table) table = NULL;
    Status status = STATUS_OK;

    if (managers != NULL)
        snapshots = take_snapshots(listing, managers, &error);
    if (snapshots == NULL)
        return target_complain(&listing->target, error);
    update_evidence(snapshots);
    if (listing->json) {
        print_json(listing, managers, snapshots);
    } else {
        table = lock_output_table(listing->target.all, isatty(STDOUT_FILENO));
        for (guint i = 0; i < managers->len; i++)
            add_rows(listing, table, managers->pdata[i], snapshots->pdata[i]);
        table_print(table);
    }
    flush_output(&status);
    if (status == STATUS_OK)
        status = get_status(listing, snapshots);
    return (int)status;
}

int
command_list(const Command *command, int argc, char **argv)
{
    Listing listing = {.target = TARGET_DEFAULT};
    const Option options[] = {TARGET_ALL_OPTION(&listing.target),
                              {"json", 'j', NULL, N_("Print JSON"), option_set, &listing.json},
                              TARGET_OPTIONS(&listing.target),
                              {NULL}};
    int status;

    if (!options_parse(command, options, &argc, &argv, &status) ||
        !options_get_optional_name(command, argc, argv, &listing.name, &status) ||
        !target_check_all(&listing.target, command, &status))
        return status;
    return print_listing(&listing);
}
