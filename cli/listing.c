/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/listing.h"

#include <glib/gi18n.h>
#include <unistd.h>

#include "cli/lock-output.h"
#include "cli/status.h"
#include "client-lib/evidence/evidence.h"

/* The snapshot of one bucket. */
typedef struct {
    WebLocksManager *manager;
    WebLocksSnapshot *snapshot;
} Page;

static void
page_free(gpointer data)
{
    Page *page = data;

    g_object_unref(page->manager);
    g_object_unref(page->snapshot);
    g_free(page);
}

static gboolean
take_page(const Listing *listing, WebLocksManager *manager, GPtrArray *pages, GError **error)
{
    WebLocksSnapshot *snapshot;
    Page *page;

    if (listing->detailed)
        snapshot = web_locks_manager_inspect_sync(manager, listing->name, NULL, error);
    else
        snapshot = web_locks_manager_query_sync(manager, NULL, error);
    if (snapshot == NULL)
        return FALSE;
    page = g_new0(Page, 1);
    page->manager = g_object_ref(manager);
    page->snapshot = snapshot;
    g_ptr_array_add(pages, page);
    return TRUE;
}

/* Returns owned managers, or NULL and an error. */
static GPtrArray *
get_managers(const Listing *listing, GError **error)
{
    g_autoptr(WebLocksAgent) agent = target_connect(&listing->target, error);
    GPtrArray *managers;

    if (agent == NULL)
        return NULL;
    if (!listing->all && !listing->all_buckets) {
        managers = g_ptr_array_new_with_free_func(g_object_unref);
        g_ptr_array_add(managers, web_locks_manager_new(agent, listing->target.bucket));
        return managers;
    }
    managers = web_locks_agent_list_observable_sync(agent, NULL, error);
    for (guint i = managers != NULL ? managers->len : 0; i-- > 0 && !listing->all;)
        if (web_locks_manager_get_observed(managers->pdata[i]))
            g_ptr_array_remove_index(managers, i);
    return managers;
}

/* Returns owned pages, or NULL and an error. */
static GPtrArray *
take_pages(const Listing *listing, GError **error)
{
    g_autoptr(GPtrArray) managers = get_managers(listing, error);
    g_autoptr(GPtrArray) pages = g_ptr_array_new_with_free_func(page_free);

    if (managers == NULL)
        return NULL;
    for (guint i = 0; i < managers->len; i++) {
        if (!take_page(listing, managers->pdata[i], pages, error))
            return NULL;
    }
    return g_steal_pointer(&pages);
}

static void
append_to_store(GListStore *store, GListModel *list)
{
    for (guint i = 0; i < g_list_model_get_n_items(list); i++) {
        g_autoptr(GObject) info = g_list_model_get_item(list, i);

        g_list_store_append(store, info);
    }
}

/* Those of all pages together: clients may wait for each other in several buckets. */
static void
update_evidence(GPtrArray *pages)
{
    g_autoptr(GListStore) held = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);
    g_autoptr(GListStore) pending = g_list_store_new(WEB_LOCKS_TYPE_LOCK_INFO);

    for (guint i = 0; i < pages->len; i++) {
        const Page *page = pages->pdata[i];

        append_to_store(held, web_locks_snapshot_get_held(page->snapshot));
        append_to_store(pending, web_locks_snapshot_get_pending(page->snapshot));
    }
    evidence_update_lists(G_LIST_MODEL(held), G_LIST_MODEL(pending));
}

/* The output of --all: the buckets of several principals may have the same name. */
static void
print_all_json(const Listing *listing, GPtrArray *pages)
{
    Json json;

    json_init(&json);
    json_open(&json, NULL, '{');
    json_open(&json, "buckets", '[');
    for (guint i = 0; i < pages->len; i++) {
        const Page *page = pages->pdata[i];

        json_open(&json, NULL, '{');
        lock_output_bucket_members(&json, page->manager);
        lock_output_snapshot(&json, page->snapshot, listing->detailed);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    json_print(&json);
    json_clear(&json);
}

/* With --all-buckets, the output is one object with a member for each bucket. */
static void
print_json(const Listing *listing, GPtrArray *pages)
{
    Json json;

    json_init(&json);
    json_open(&json, NULL, '{');
    for (guint i = 0; i < pages->len; i++) {
        const Page *page = pages->pdata[i];

        if (listing->all_buckets)
            json_open(&json, web_locks_manager_get_bucket(page->manager), '{');
        lock_output_snapshot(&json, page->snapshot, listing->detailed);
        if (listing->all_buckets)
            json_close(&json, '}');
    }
    json_close(&json, '}');
    json_print(&json);
    json_clear(&json);
}

static void
append_list(GPtrArray *rows, GListModel *list)
{
    guint n = g_list_model_get_n_items(list);

    for (guint i = 0; i < n; i++)
        g_ptr_array_add(rows, g_list_model_get_item(list, i));
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(web_locks_lock_info_get_name(*(WebLocksLockInfo *const *)a),
                  web_locks_lock_info_get_name(*(WebLocksLockInfo *const *)b));
}

/* Returns an owned text for the first column, or NULL if there is none. */
static char *
get_place(const Listing *listing, WebLocksManager *manager)
{
    if (listing->all)
        return lock_output_bucket(manager);
    return listing->all_buckets ? g_strdup(web_locks_manager_get_bucket(manager)) : NULL;
}

/* Adds rows sorted by name; within a name, held locks first, then pending requests in queue order.
 * This needs a stable sort, which g_ptr_array_sort() is. */
static void
add_rows(const Listing *listing, Table *table, const Page *page)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_object_unref);
    g_autofree char *place = get_place(listing, page->manager);
    GListModel *held = web_locks_snapshot_get_held(page->snapshot);
    GListModel *pending = web_locks_snapshot_get_pending(page->snapshot);
    g_autoptr(GHashTable) clients = listing->detailed ? lock_output_clients(held, pending) : NULL;

    append_list(rows, held);
    append_list(rows, pending);
    g_ptr_array_sort(rows, compare_names);
    for (guint i = 0; i < rows->len; i++)
        lock_output_row(table, place, rows->pdata[i], clients);
}

Status
listing_print(const Listing *listing)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) pages = take_pages(listing, &error);
    g_autoptr(Table) table = NULL;
    Status status = STATUS_OK;

    if (pages == NULL)
        return target_complain(&listing->target, error);
    if (listing->detailed)
        update_evidence(pages);
    if (listing->json && listing->all) {
        print_all_json(listing, pages);
        flush_output(&status);
        return status;
    }
    if (listing->json) {
        print_json(listing, pages);
        flush_output(&status);
        return status;
    }
    table = lock_output_table(listing->all_buckets || listing->all, listing->detailed,
                              isatty(STDOUT_FILENO));
    for (guint i = 0; i < pages->len; i++)
        add_rows(listing, table, pages->pdata[i]);
    table_print(table);
    flush_output(&status);
    return status;
}

gboolean
listing_parse(Listing *listing, const Command *command, int *argc, char ***argv, int *out_status)
{
    const Option options[] = {
        {"all", 0, NULL, N_("All buckets that you may look at, also of sandboxed applications"),
         option_set, &listing->all},
        {"all-buckets", 'a', NULL, N_("All buckets that have a lock or a request now"), option_set,
         &listing->all_buckets},
        {"json", 'j', NULL, N_("Print JSON"), option_set, &listing->json},
        target_bucket_option(&listing->target),
        target_system_option(&listing->target),
        {NULL}};

    return options_parse(command, options, argc, argv, out_status);
}
