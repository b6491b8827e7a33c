/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "entry.h"

#include <glib/gi18n.h>
#include <string.h>

#include "client-lib/evidence/evidence.h"

G_DEFINE_FINAL_TYPE(ViewerResource, viewer_resource, G_TYPE_OBJECT)
G_DEFINE_FINAL_TYPE(ViewerEntry, viewer_entry, G_TYPE_OBJECT)

static guint evidence_signal;
/* The set of all resources that exist, by monitor, bucket and name. It holds no references. */
static GHashTable *resources;

/* ---- resources */

#define PUBLIC_PREFIX "private:"

/* Of a private session, the beginning of its public name, which distinguishes those of a user. */
static char *
get_place(const char *bucket)
{
    if (!g_str_has_prefix(bucket, PUBLIC_PREFIX))
        return g_strdup(bucket);
    /* Translators: a set of processes that share locks, and the beginning of its public name. */
    return g_strdup_printf(_("private session %.8s"), bucket + strlen(PUBLIC_PREFIX));
}

/* "~/Documents" for a folder below the user's own. */
static char *
shorten(const char *folder)
{
    const char *home = g_get_home_dir();
    const gsize length = strlen(home);

    if (length > 1 && g_str_has_prefix(folder, home) &&
        (folder[length] == '/' || folder[length] == '\0'))
        return g_strconcat("~", folder + length, NULL);
    return g_strdup(folder);
}

/* Splits the lock name of a document into the name of the file and its folder, for people: the
 * inverse of common/document-name. Returns FALSE if the name is not the URI of a file. */
static gboolean
split_document(const char *lock_name, char **name, char **folder)
{
    g_autoptr(GFile) file = NULL;
    g_autofree char *whole = NULL, *parent = NULL;

    /* The other kind, "sha256:" and a hash, has no slashes. */
    if (strstr(lock_name, "://") == NULL)
        return FALSE;
    file = g_file_new_for_uri(lock_name);
    whole = g_file_get_parse_name(file);
    parent = g_path_get_dirname(whole);
    *name = g_path_get_basename(whole);
    *folder = shorten(parent);
    return TRUE;
}

static ViewerResource *
viewer_resource_new(WebLocksMonitor *monitor, WebLocksManager *manager, const char *name)
{
    ViewerResource *self = g_object_new(VIEWER_TYPE_RESOURCE, NULL);
    const char *bucket = web_locks_manager_get_bucket(manager);

    self->monitor = g_object_ref(monitor);
    self->manager = g_object_ref(manager);
    self->name = g_strdup(name);
    if (!g_str_equal(bucket, WEB_LOCKS_DOCUMENTS_BUCKET) ||
        !split_document(name, &self->title, &self->place)) {
        self->title = g_strdup(name);
        self->place = get_place(bucket);
    }
    return self;
}

static guint
viewer_resource_hash(gconstpointer self)
{
    const ViewerResource *resource = self;

    return g_str_hash(resource->name) ^ g_str_hash(web_locks_manager_get_bucket(resource->manager));
}

/* A monitor makes another manager for a bucket that it has not shown for a while. */
static gboolean
is_same_bucket(WebLocksManager *a, WebLocksManager *b)
{
    return a == b ||
           (g_str_equal(web_locks_manager_get_bucket(a), web_locks_manager_get_bucket(b)) &&
            web_locks_manager_get_uid(a) == web_locks_manager_get_uid(b) &&
            g_strcmp0(web_locks_manager_get_application(a), web_locks_manager_get_application(b)) ==
                0);
}

static gboolean
viewer_resource_equal(gconstpointer self, gconstpointer other)
{
    const ViewerResource *a = self, *b = other;

    return a->monitor == b->monitor && is_same_bucket(a->manager, b->manager) &&
           g_str_equal(a->name, b->name);
}

/* Returns an owned resource. */
static ViewerResource *
viewer_resource_of(WebLocksMonitor *monitor, WebLocksLockInfo *info)
{
    g_autoptr(ViewerResource) self = viewer_resource_new(
        monitor, web_locks_lock_info_get_manager(info), web_locks_lock_info_get_name(info));
    ViewerResource *known;

    if (resources == NULL)
        resources = g_hash_table_new(viewer_resource_hash, viewer_resource_equal);
    known = g_hash_table_lookup(resources, self);
    if (known != NULL)
        return g_object_ref(known);
    g_hash_table_add(resources, self);
    return g_steal_pointer(&self);
}

static void
viewer_resource_finalize(GObject *object)
{
    ViewerResource *self = VIEWER_RESOURCE(object);

    if (self->name != NULL && g_hash_table_lookup(resources, self) == self)
        g_hash_table_remove(resources, self);
    g_clear_object(&self->monitor);
    g_clear_object(&self->manager);
    g_free(self->name);
    g_free(self->title);
    g_free(self->place);
    g_object_unref(self->holders);
    g_object_unref(self->queue);
    G_OBJECT_CLASS(viewer_resource_parent_class)->finalize(object);
}

static void
viewer_resource_class_init(ViewerResourceClass *class)
{
    G_OBJECT_CLASS(class)->finalize = viewer_resource_finalize;
}

static void
viewer_resource_init(ViewerResource *self)
{
    self->holders = g_list_store_new(VIEWER_TYPE_ENTRY);
    self->queue = g_list_store_new(VIEWER_TYPE_ENTRY);
}

/* ---- entries */

static GListStore *
get_list(ViewerEntry *self)
{
    return self->is_held ? self->resource->holders : self->resource->queue;
}

ViewerEntry *
viewer_entry_new(WebLocksMonitor *monitor, WebLocksLockInfo *info)
{
    static guint64 serial = 0;
    ViewerEntry *self = g_object_new(VIEWER_TYPE_ENTRY, NULL);

    self->resource = viewer_resource_of(monitor, info);
    self->application = viewer_application_of(info);
    self->info = g_object_ref(info);
    self->is_held = web_locks_lock_info_get_held(info);
    self->serial = ++serial;
    g_list_store_append(get_list(self), self);
    return self;
}

void
viewer_entry_end(ViewerEntry *self)
{
    guint position;

    self->has_ended = TRUE;
    if (g_list_store_find(get_list(self), self, &position))
        g_list_store_remove(get_list(self), position);
}

void
viewer_entry_update_evidence(ViewerEntry *self)
{
    if (evidence_update(self->resource->monitor, self->info))
        g_signal_emit(self, evidence_signal, 0);
}

int
viewer_entry_compare(gpointer first, gpointer second)
{
    const ViewerEntry *a = first, *b = second;
    int order = strcmp(web_locks_manager_get_bucket(a->resource->manager),
                       web_locks_manager_get_bucket(b->resource->manager));

    if (order == 0)
        order = strcmp(a->resource->name, b->resource->name);
    if (order == 0)
        order = b->is_held - a->is_held;
    if (order == 0)
        order = a->serial < b->serial ? -1 : a->serial > b->serial;
    return order;
}

static gboolean
contains(const char *text, const char *words)
{
    g_autofree char *lower = g_utf8_casefold(text, -1);

    return strstr(lower, words) != NULL;
}

gboolean
viewer_entry_matches(ViewerEntry *self, const char *words)
{
    g_autofree char *pid = g_strdup_printf("%u", web_locks_lock_info_get_pid(self->info));
    g_autofree char *who_pid = g_strdup_printf("%u", web_locks_lock_info_get_who_pid(self->info));

    return *words == '\0' || contains(self->resource->name, words) ||
           contains(self->resource->title, words) || contains(self->resource->place, words) ||
           contains(self->application->name, words) ||
           contains(web_locks_lock_info_get_process(self->info), words) ||
           contains(web_locks_manager_get_bucket(self->resource->manager), words) ||
           g_str_equal(pid, words) || g_str_equal(who_pid, words);
}

static void
viewer_entry_finalize(GObject *object)
{
    ViewerEntry *self = VIEWER_ENTRY(object);

    g_clear_object(&self->resource);
    g_clear_object(&self->application);
    g_clear_object(&self->info);
    G_OBJECT_CLASS(viewer_entry_parent_class)->finalize(object);
}

static void
viewer_entry_class_init(ViewerEntryClass *class)
{
    G_OBJECT_CLASS(class)->finalize = viewer_entry_finalize;
    evidence_signal = g_signal_new("evidence-changed", VIEWER_TYPE_ENTRY, G_SIGNAL_RUN_LAST, 0,
                                   NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void
viewer_entry_init(ViewerEntry *self)
{
}
