/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "client-lib/survey.h"

#include "client-lib/manager-private.h"
#include "client-lib/observe.h"
#include "client-lib/watched-bucket.h"
#include "common/bus-names.h"

/* The buckets of others come after the own ones. */
#define RANK_OF_OTHERS (G_GUINT64_CONSTANT(1) << 63)

struct Survey {
    WebLocksAgent *agent;     /* borrowed */
    WebLocksManager *manager; /* borrowed; NULL: all buckets */
    const char *name;         /* borrowed; NULL: all names */
    GPtrArray *buckets;       /* of WatchedBucket */
    GHashTable *by_path;      /* the same, by object path */
    guint64 n_added;          /* how many buckets there have ever been */
    gboolean is_list_stale;   /* there may be buckets that are not in `buckets` */
    GArray *changes;          /* of ListChange, that have been collected from buckets */

    /* The look. */
    gboolean is_listing;    /* the last call was Observable */
    WatchedBucket *reading; /* or Inspect of this bucket */
    guint at;               /* buckets before this one have been read */
};

static void
add_bucket(Survey *self, WebLocksManager *manager)
{
    guint64 rank = ++self->n_added | (web_locks_manager_get_observed(manager) ? RANK_OF_OTHERS : 0);
    WatchedBucket *bucket = watched_bucket_new(manager, self->name, rank);

    g_ptr_array_add(self->buckets, bucket);
    g_hash_table_insert(self->by_path, (gpointer)web_locks_manager_get_path(manager), bucket);
}

Survey *
survey_new(WebLocksAgent *agent, WebLocksManager *manager, const char *name)
{
    Survey *self = g_new0(Survey, 1);

    self->agent = agent;
    self->manager = manager;
    self->name = name;
    self->buckets = g_ptr_array_new_with_free_func((GDestroyNotify)watched_bucket_free);
    self->by_path = g_hash_table_new(g_str_hash, g_str_equal);
    self->changes = list_changes_new();
    self->is_list_stale = manager == NULL;
    if (manager != NULL)
        add_bucket(self, manager);
    return self;
}

void
survey_free(Survey *self)
{
    g_hash_table_unref(self->by_path);
    g_ptr_array_unref(self->buckets);
    g_array_unref(self->changes);
    g_free(self);
}

const char *
survey_get_path(const Survey *self)
{
    return self->manager != NULL ? web_locks_manager_get_path(self->manager) : BUS_SERVICE_PATH;
}

MethodCallMessage
survey_build_watch(const Survey *self)
{
    return (MethodCallMessage){survey_get_path(self),
                               self->manager != NULL ? BUS_LOCKS_INTERFACE : BUS_SERVICE_INTERFACE,
                               "Watch", g_variant_new("(b)", TRUE)};
}

void
survey_invalidate(Survey *self)
{
    self->is_list_stale = self->manager == NULL;
    self->is_listing = FALSE;
    self->reading = NULL;
    self->at = 0;
    for (guint i = 0; i < self->buckets->len; i++)
        watched_bucket_invalidate(self->buckets->pdata[i]);
}

void
survey_clear(Survey *self)
{
    survey_invalidate(self);
    for (guint i = 0; i < self->buckets->len; i++) {
        watched_bucket_clear(self->buckets->pdata[i]);
        watched_bucket_collect(self->buckets->pdata[i], self->changes);
    }
}

void
survey_signal(Survey *self, GDBusMessage *signal)
{
    const char *path = g_dbus_message_get_path(signal);
    const char *member = g_dbus_message_get_member(signal);
    WatchedBucket *bucket = g_hash_table_lookup(self->by_path, path);

    if (bucket != NULL) {
        watched_bucket_signal(bucket, member, g_dbus_message_get_body(signal));
    } else if (self->manager == NULL && g_str_equal(path, BUS_SERVICE_PATH)) {
        /* It is Missed. */
        self->is_list_stale = TRUE;
        for (guint i = 0; i < self->buckets->len; i++)
            watched_bucket_invalidate(self->buckets->pdata[i]);
    } else if (self->manager == NULL && !g_str_equal(member, "Released")) {
        self->is_list_stale = TRUE;
    }
}

/* ---- all buckets */

/* The bucket is empty. */
static void
drop_bucket(Survey *self, guint at)
{
    WatchedBucket *bucket = self->buckets->pdata[at];

    watched_bucket_clear(bucket);
    watched_bucket_collect(bucket, self->changes);
    g_hash_table_remove(self->by_path,
                        web_locks_manager_get_path(watched_bucket_get_manager(bucket)));
    g_ptr_array_remove_index(self->buckets, at);
}

/* Takes the reply to Observable. A bucket keeps its place and its manager as long as it is listed.
 */
static void
take_managers(Survey *self, GPtrArray *managers)
{
    g_autoptr(GHashTable) listed = g_hash_table_new(g_str_hash, g_str_equal);

    for (guint i = 0; i < managers->len; i++)
        g_hash_table_add(listed, (gpointer)web_locks_manager_get_path(managers->pdata[i]));
    for (guint i = self->buckets->len; i > 0; i--) {
        const WatchedBucket *bucket = self->buckets->pdata[i - 1];
        WebLocksManager *manager = watched_bucket_get_manager(bucket);

        if (!g_hash_table_contains(listed, web_locks_manager_get_path(manager)))
            drop_bucket(self, i - 1);
    }
    for (guint i = 0; i < managers->len; i++)
        if (!g_hash_table_contains(self->by_path, web_locks_manager_get_path(managers->pdata[i])))
            add_bucket(self, managers->pdata[i]);
    /* A bucket of which a signal has come before the reply is in the list, or empty again. */
    self->is_list_stale = FALSE;
}

/* ---- calls and replies */

/* The next bucket of the look; NULL: there is none. */
static WatchedBucket *
find_next(Survey *self)
{
    for (; self->at < self->buckets->len; self->at++)
        if (watched_bucket_wants_call(self->buckets->pdata[self->at]))
            return self->buckets->pdata[self->at];
    return NULL;
}

gboolean
survey_wants_call(const Survey *self)
{
    if (self->is_list_stale)
        return TRUE;
    for (guint i = 0; i < self->buckets->len; i++)
        if (watched_bucket_wants_call(self->buckets->pdata[i]))
            return TRUE;
    return FALSE;
}

MethodCallMessage
survey_build(Survey *self)
{
    /* It may be called again for the same call. */
    if (!self->is_listing && self->reading == NULL) {
        self->reading = self->is_list_stale ? NULL : find_next(self);
        self->is_listing = self->reading == NULL && self->manager == NULL;
        /* If there is nothing to read any more, that does no harm. */
        if (self->reading == NULL && !self->is_listing)
            self->reading = self->buckets->pdata[0];
    }
    return self->is_listing ? observable_build(self->agent) : watched_bucket_build(self->reading);
}

static gboolean
read_list(Survey *self, GVariant *body, GError **error)
{
    g_autoptr(GPtrArray) managers = observable_read(body, self->agent, error);

    if (managers == NULL)
        return FALSE;
    self->is_listing = FALSE;
    take_managers(self, managers);
    self->at = 0;
    return TRUE;
}

static gboolean
read_bucket(Survey *self, GVariant *body, GError **error)
{
    gboolean more;

    if (!watched_bucket_read(self->reading, body, &more, error))
        return FALSE;
    if (more)
        return TRUE;
    /* What is new since the call is read in the next look. */
    if (!watched_bucket_is_stale(self->reading)) {
        watched_bucket_collect(self->reading, self->changes);
        self->at++;
    }
    self->reading = NULL;
    return TRUE;
}

gboolean
survey_read(Survey *self, GVariant *body, GError **error)
{
    if (!(self->is_listing ? read_list(self, body, error) : read_bucket(self, body, error)))
        return FALSE;
    if (self->reading != NULL || find_next(self) != NULL)
        return FALSE;
    self->at = 0;
    return TRUE;
}

GArray *
survey_collect(Survey *self)
{
    GArray *changes = g_steal_pointer(&self->changes);

    self->changes = list_changes_new();
    for (guint i = 0; i < self->buckets->len; i++)
        if (!watched_bucket_wants_call(self->buckets->pdata[i]))
            watched_bucket_collect(self->buckets->pdata[i], changes);
    return changes;
}
